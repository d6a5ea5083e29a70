"""The console's files, as the deployed stack serves them: through the gateway, byte for byte."""

import gzip
import json
import re

import httpx
import pytest

from infra.console_files import built_files
from tests.e2e.conftest import System
from tests.support.waiting import PATIENCE_SECONDS


def sent(system: System, path: str, **headers: str) -> tuple[httpx.Response, bytes]:
    """An answer, and its body as it was on the wire."""
    assert system.stack.console is not None
    with (
        httpx.Client(trust_env=False, timeout=PATIENCE_SECONDS) as client,
        client.stream("GET", system.stack.console + path, headers=headers) as response,
    ):
        return response, b"".join(response.iter_raw())


@pytest.fixture(scope="module")
def script(system: System) -> str:
    """The name of a file that the page loads."""
    _, page = sent(system, "", **{"Accept-Encoding": "identity"})
    (name, *_) = re.findall(r'"\./console/([\w.-]+\.js)"', page.decode())
    return str(name)


@pytest.mark.parametrize(("coding", "ending"), [("br", ".br"), ("gzip", ".gz")])
def test_console_browser_receives_page_and_files_as_compressed(
    system: System, script: str, coding: str, ending: str
) -> None:
    for path, name in (("", "index.html"), (f"/{script}", script)):
        response, body = sent(system, path, **{"Accept-Encoding": coding})
        assert (response.status_code, response.headers["content-encoding"]) == (200, coding)
        assert body == (built_files() / (name + ending)).read_bytes()
        assert response.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")


def test_console_client_without_decompression_receives_the_plain_file(system: System, script: str) -> None:
    _, body = sent(system, f"/{script}", **{"Accept-Encoding": "identity"})
    assert body == gzip.decompress((built_files() / f"{script}.gz").read_bytes())


def test_console_cached_page_is_not_sent_again(system: System) -> None:
    first, _ = sent(system, "")
    again, body = sent(system, "", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, body) == (304, b"")


def test_console_settings_name_the_stage_and_require_no_login(system: System) -> None:
    response, body = sent(system, "/settings.json")
    assert response.status_code == 200, body
    told = json.loads(body)
    assert (told["stage"], told["auth"], told["issuer"]) == ("local", "none", None)
    assert told["logs"]["api"]
    assert len(told["logs"]["execute"]) == 4


def test_console_missing_file_returns_a_problem_document(system: System) -> None:
    response, body = sent(system, "/index-00000000.js")
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")
    assert b"/problems/not-found" in body
