"""The console's function: which file it answers with, in which coding, and what it says beside it."""

import base64
import gzip
import json
from typing import Any

import pytest

from functions.console.handler import FOR_EVER, Request, Response, Stage, best_coding, decide, handler

SCRIPT = "index-AbCd1234.js"
STAGE = Stage(settings='{"stage": "prod"}', connect="https://login.example https://tokens.example")
FILES = {
    "index.html.br": b"the page, by brotli",
    "index.html.gz": gzip.compress(b"the page", mtime=0),
    f"{SCRIPT}.br": b"the script, by brotli",
    f"{SCRIPT}.gz": gzip.compress(b"the script", mtime=0),
}


def get(file: str | None = None, **more: Any) -> Response:
    return decide(Request(file=file, **more), FILES, STAGE)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate", "gzip"),
        ("br;q=0.5, gzip;q=0.8", "gzip"),
        ("GZIP ; Q=0.2", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("*", "br"),
        ("br;q=0, *;q=0.1", "gzip"),
        ("identity, gzip;q=0.5", "identity"),
        ("deflate", "identity"),
        ("br;q=nonsense", "identity"),
        ("br;q=nan, gzip;q=7", "identity"),
        ("*;q=0", "identity"),
        ("", "identity"),
        (",;,q=", "identity"),
    ],
)
def test_console_uses_the_encoding_that_the_browser_prefers(accepted: str, coding: str) -> None:
    assert best_coding(accepted) == coding


def test_console_sends_a_file_in_its_compressed_form() -> None:
    answer = get(SCRIPT, accept_encoding="gzip, br")
    assert (answer.status, answer.body) == (200, b"the script, by brotli")
    assert answer.headers["content-encoding"] == "br"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert get(SCRIPT, accept_encoding="gzip").body == FILES[f"{SCRIPT}.gz"]


def test_console_sends_the_uncompressed_file_to_clients_without_compression() -> None:
    answer = get(SCRIPT)
    assert answer.body == b"the script"
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("accepted", ["br", "gzip", ""])
def test_console_caches_each_encoding_separately_and_a_hashed_file_permanently(accepted: str) -> None:
    answer = get(SCRIPT, accept_encoding=accepted)
    assert (answer.headers["vary"], answer.headers["cache-control"]) == ("Accept-Encoding", FOR_EVER)


def test_console_page_is_revalidated_and_sent_again_only_if_it_changed() -> None:
    first = get(accept_encoding="br")
    assert (first.status, first.body) == (200, b"the page, by brotli")
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    tag = first.headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f'"old", {tag}', "*"):
        again = get(if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert {"vary", "cache-control"} <= set(again.headers)
    assert get(if_none_match='"old"').status == 200
    other = decide(Request(None, if_none_match=tag), FILES | {"index.html.gz": gzip.compress(b"another")}, STAGE)
    assert (other.status, other.body) == (200, b"another")


def test_console_page_gets_the_settings_of_the_stage() -> None:
    answer = get("settings.json", accept_encoding="br")
    assert (answer.status, json.loads(answer.body)) == (200, {"stage": "prod"})
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == ("application/json", "no-cache")


@pytest.mark.parametrize(
    "name",
    [
        "index-Zzzz9999.js", "index.html", f"{SCRIPT}.gz", "../handler.py", "..", ".", "/etc/passwd", f"./{SCRIPT}",
        f"deeper/{SCRIPT}", f"{SCRIPT}\0", f"{SCRIPT}/", "settings.json/", "<img src=x onerror=alert(1)>", "",
    ],
)  # fmt: skip
def test_console_unknown_file_is_not_found(name: str) -> None:
    answer = get(name, accept_encoding="br")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-cache", "the next deployment may have it"
    problem = json.loads(answer.body)
    assert (problem["type"], problem["status"]) == ("/problems/not-found", 404)
    assert "onerror" not in str(problem), "what was asked for is not said again"


def test_console_trailing_slash_redirects_to_the_page() -> None:
    answer = get(path="/console/")
    assert (answer.status, answer.headers["location"]) == (308, "../console")


def test_console_page_that_was_sent_with_a_slash_at_its_end_finds_its_files() -> None:
    assert get(f"console/{SCRIPT}").body == get(SCRIPT).body


@pytest.mark.parametrize(
    "request_",
    [Request(None), Request(SCRIPT), Request("settings.json"), Request("none"), Request(None, path="/console/")],
)
def test_console_responses_have_security_headers(request_: Request) -> None:
    headers = decide(request_, FILES, STAGE).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == policy["form-action"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self' https://login.example https://tokens.example"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["strict-transport-security"] == "max-age=63072000"


def test_console_page_without_a_login_connects_to_its_own_origin_only() -> None:
    policy = decide(Request(None), FILES, Stage(settings="{}")).headers["content-security-policy"]
    assert "connect-src 'self';" in policy


def test_console_unencrypted_response_has_no_strict_transport_security() -> None:
    assert "strict-transport-security" not in get(https=False).headers


def test_console_gateway_receives_bytes_in_base64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUECOURSE_CONSOLE_SETTINGS", '{"stage": "dev"}')
    monkeypatch.setenv("DUECOURSE_CONSOLE_CONNECT", "")
    event = {
        "rawPath": "/console/settings.json",
        "pathParameters": {"file": "settings.json"},
        "headers": {"accept-encoding": "br", "x-forwarded-proto": "https"},
    }
    answer = handler(event, None)
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, True)
    assert base64.b64decode(answer["body"]) == b'{"stage": "dev"}'
    assert "strict-transport-security" in answer["headers"]
    page = handler({"rawPath": "/console", "headers": {}}, None)
    assert page["statusCode"] == 404, "this checkout's function has no files beside it"
