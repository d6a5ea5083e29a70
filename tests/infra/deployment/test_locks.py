"""Locks and the set-up of a checkout.

- The locks: hashed, without the name of any host.
- `make audit-locks`: what databases answer, and that silence is never taken for a clean bill.
- Causes and remedies that `make setup` names when a step of it fails.
"""

import errno
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from scripts.audit_locks import Audit, of_node, of_python, report
from scripts.failures import accepts_connections, cause_of, cause_of_download, local_cause
from tests.support.http_target import answering, http_target
from tests.support.template import ROOT

PYTHON_LOCKS = (
    "layers/dependencies/requirements.txt",
    "requirements/dev.txt",
    "requirements/bench.txt",
    "requirements/audit.txt",
    "requirements/uv.txt",
)


def versions(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE))


@pytest.mark.parametrize("lock", [*PYTHON_LOCKS, "package-lock.json"])
def test_lock_files_contain_no_host_names(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert "--index" not in text
    folders = re.sub(r'"resolved": "(console|clients/typescript)"', "", text)
    assert '"resolved"' not in folders, "but for the folders of workspaces"


@pytest.mark.parametrize("lock", PYTHON_LOCKS)
def test_lock_files_have_hashes_for_every_package(lock: str) -> None:
    for requirement in re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in requirement, requirement


def test_lock_files_test_environment_has_the_versions_that_functions_run() -> None:
    assert versions("layers/dependencies/requirements.txt").items() <= versions("requirements/dev.txt").items()


def test_lock_files_versions_are_those_of_an_isolated_build() -> None:
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert dict(each.split("==") for each in requires).items() <= versions("requirements/dev.txt").items()


def test_lock_files_server_extra_matches_the_packages_of_the_functions() -> None:
    """But for botocore, which the layer pins to what the emulator resolves with, and what every program has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "layers" / "dependencies" / "requirements.in").read_text().splitlines()
    layer = {line for line in lines if line and not line.startswith(("#", "botocore=="))}
    base = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert set(project["optional-dependencies"]["server"]) == layer - base


@pytest.mark.parametrize("lock", ["requirements/bench.txt", "requirements/audit.txt"])
def test_lock_files_temporary_additions_change_no_version_of_the_environment(lock: str) -> None:
    tested, added = versions("requirements/dev.txt"), versions(lock)
    assert {name: tested[name] for name in tested.keys() & added.keys()}.items() <= added.items()


def test_lock_files_node_tools_are_pinned_with_hashes() -> None:
    tools = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"[0-9.]+", version) for version in tools.values())
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    brought = [package for name, package in packages.items() if name.startswith("node_modules/")]
    assert all("integrity" in package or package.get("link") for package in brought)
    console = json.loads((ROOT / "console" / "package.json").read_text())
    used = console["dependencies"] | console["devDependencies"]
    assert packages["node_modules/duecourse"]["link"]  # the client in this repository, in its current version
    assert all(re.fullmatch(r"[0-9.]+", version) for name, version in used.items() if name != "duecourse")


VULNERABLE = {
    "dependencies": [
        {"name": "urllib3", "version": "2.0.0", "vulns": []},
        {"name": "jinja2", "version": "3.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.4"], "aliases": []}]},
        {"name": "ours", "skip_reason": "Dependency not found on PyPI and could not be audited: ours (1)"},
    ],
    "fixes": [],
}
NODE = {
    "auditReportVersion": 2,
    "vulnerabilities": {
        "braces": {
            "name": "braces",
            "severity": "high",
            "via": [{"title": "Uncontrolled resource consumption", "severity": "high"}],
            "range": "<3.0.3",
        },
        "micromatch": {"name": "micromatch", "severity": "high", "via": ["braces"], "range": "<4.0.6"},
    },
    "metadata": {"dependencies": {"total": 40}},
}


def test_lock_files_known_vulnerability_is_named_with_the_fixing_version() -> None:
    assert of_python(json.dumps(VULNERABLE)) == Audit(2, ("jinja2 3.0: PYSEC-1, fixed in 3.1.4",), skipped=("ours",))


def test_lock_files_vulnerability_of_node_tools_is_named_once_at_its_source() -> None:
    assert of_node(json.dumps(NODE)) == Audit(40, ("braces <3.0.3: Uncontrolled resource consumption (high)",))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Traceback (most recent call last):",
        json.dumps({"dependencies": [], "fixes": []}),
        json.dumps({"dependencies": [{"name": "six", "skip_reason": "not found on PyPI"}], "fixes": []}),
    ],
)
def test_lock_files_database_that_knows_no_package_counts_as_unreachable(said: str) -> None:
    """A mirror without PyPI's database answers so, and pip-audit calls that no known vulnerabilities."""
    assert of_python(said) is None


@pytest.mark.parametrize(
    "said",
    ["", "npm error", json.dumps({"message": "405 Method Not Allowed", "statusCode": 405, "error": {"summary": ""}})],
)
def test_lock_files_registry_without_audit_counts_as_unreachable(said: str) -> None:
    assert of_node(said) is None


@pytest.mark.parametrize(
    ("found", "line", "status"),
    [
        (None, "python locks: no database of vulnerabilities could be reached, skipped", 0),
        (Audit(15, ()), "python locks: no known vulnerability in 15 packages", 0),
        (Audit(15, (), ("ours",)), "python locks: no known vulnerability in 15 packages (not looked up: ours)", 0),
        (Audit(15, ("a 1: X",)), "python locks: known vulnerabilities in 15 packages:\n  a 1: X", 1),
    ],
)
def test_lock_files_audit_ends_with_one_summary(found: Audit | None, line: str, status: int) -> None:
    assert report("python locks", found) == (line, status)


def test_lock_files_are_all_audited() -> None:
    from scripts.audit_locks import PYTHON_LOCKS

    told: Any = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    locks = {name for name in told.splitlines() if re.search(r"(^|/)requirements(/\w+)?\.txt$", name)}
    assert set(PYTHON_LOCKS) == locks


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
def test_lock_files_local_causes_are_recognized_in_tool_output(said: str, cause: str) -> None:
    for found in (local_cause(said), cause_of_download(said, "npm", PROXY, lambda _: False)):
        assert found.startswith(cause)
        assert found.endswith("and run the same command again")


def test_lock_files_unresponsive_proxy_is_named_without_its_credentials() -> None:
    assert cause_of_download("tcp connect error", "uv", PROXY, lambda _: False) == (
        "the proxy proxy.example:3128 (HTTPS_PROXY) does not answer: correct or unset HTTPS_PROXY, "
        "and run the same command again"
    )


def test_lock_files_refusing_proxy_is_distinguished_from_an_unresponsive_one() -> None:
    said = "tunnel error: unsuccessful"
    assert "(HTTPS_PROXY) refused the connection" in cause_of_download(said, "uv", PROXY, lambda _: True)


@pytest.mark.parametrize("environment", [{}, PROXY])
def test_lock_files_missing_network_points_to_the_index_of_the_tool(environment: dict[str, str]) -> None:
    assert cause_of_download("dns error", "npm", environment, lambda _: True) == (
        "check the network connection, and the package index that npm is configured to use, "
        "and run the same command again"
    )


def test_lock_files_proxy_address_is_tested_by_connecting() -> None:
    with http_target(answering(200, b"")) as server:
        address = server.url("").rstrip("/")
        assert accepts_connections(address)
        assert accepts_connections(address.removeprefix("http://"))
    assert not accepts_connections(address)
    assert not accepts_connections("http://proxy.example:no-port")


def test_lock_files_full_disk_is_recognized_as_the_cause_of_a_system_error(tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, "No space left on device", ".tools/setup.lock")
    found = cause_of(error, tmp_path)
    assert found.startswith("No space left on device (.tools/setup.lock): the disk is full: free about 3 GB")


def test_lock_files_read_only_checkout_is_recognized_as_the_cause_of_a_system_error(tmp_path: Path) -> None:
    assert cause_of(PermissionError(errno.EACCES, "Permission denied", ".tools"), tmp_path / "missing") == (
        "Permission denied (.tools): this checkout is not writable for you: clone it into a folder of your own"
    )
