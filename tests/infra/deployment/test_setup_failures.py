"""Causes and remedies that `make setup` names when a step of it fails."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from scripts.failures import accepts_connections, cause_of, cause_of_download, local_cause
from tests.support.http_target import answering, http_target

PROXY = {"HTTPS_PROXY": "http://someone:secret@proxy.example:3128/"}


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        ("npm error code ENOSPC", "the disk is full"),
        ("error: failed to create directory: Read-only file system (os error 30)", "the file system is read-only"),
        ("npm error code EACCES", "a file or folder belongs to another user"),
        ("error: failed to open file: Permission denied (os error 13)", "a file or folder belongs to another user"),
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "a certificate is not trusted"),
        ("client error (Connect): invalid peer certificate: UnknownIssuer", "a certificate is not trusted"),
    ],
)
def test_causes_on_this_machine_are_found_in_what_tools_print(said: str, cause: str) -> None:
    for found in (local_cause(said), cause_of_download(said, "npm", PROXY, lambda _: False)):
        assert found is not None
        assert found.startswith(cause)
        assert found.endswith("and run the same command again")


def test_a_proxy_that_does_not_answer_is_named_without_its_credentials() -> None:
    assert cause_of_download("tcp connect error", "uv", PROXY, lambda _: False) == (
        "the proxy proxy.example:3128 (HTTPS_PROXY) does not answer: correct or unset HTTPS_PROXY, "
        "and run the same command again"
    )


def test_a_proxy_that_refuses_is_told_from_one_that_does_not_answer() -> None:
    said = "tunnel error: unsuccessful"
    assert "(HTTPS_PROXY) refused the connection" in cause_of_download(said, "uv", PROXY, lambda _: True)


@pytest.mark.parametrize("environment", [{}, PROXY])
def test_without_a_network_the_tools_index_is_the_cause(environment: dict[str, str]) -> None:
    assert cause_of_download("dns error", "npm", environment, lambda _: True) == (
        "check the network connection, and the package index that npm is configured to use, "
        "and run the same command again"
    )


def test_a_proxys_address_is_tried() -> None:
    with http_target(answering(200, b"")) as server:
        address = server.url("").rstrip("/")
        assert accepts_connections(address)
        assert accepts_connections(address.removeprefix("http://"))
    assert not accepts_connections(address)
    assert not accepts_connections("http://proxy.example:no-port")


def test_a_full_disk_is_the_cause_of_an_error_of_the_system(tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, "No space left on device", ".tools/setup.lock")
    found = cause_of(error, tmp_path)
    assert found.startswith("No space left on device (.tools/setup.lock): the disk is full: free about 3 GB")


def test_a_checkout_that_is_not_writable_is_the_cause_of_an_error_of_the_system(tmp_path: Path) -> None:
    error = PermissionError(errno.EACCES, "Permission denied", ".tools")
    assert cause_of(error, tmp_path / "missing") == (
        "Permission denied (.tools): this checkout is not writable for you: clone it into a folder of your own"
    )
