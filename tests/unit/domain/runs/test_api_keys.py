"""API keys: their text, what opens them, and text that is no template."""

from __future__ import annotations

import hmac
from dataclasses import replace

import pytest

from duecourse.domain.ids import is_id
from duecourse.domain.runs.api_keys import ApiKey, KeyTextError, key_text, no_job, read_key_text

TEXT = key_text("acme_1-x", "S" * 32)
KEY = ApiKey("acme_1-x", TEXT.id, TEXT.hash, "report", 1, "", 0.0, "ann", valid_until=100)


def test_api_key_text_is_read_and_never_shown() -> None:
    assert TEXT.text.startswith(f"dck_acme_1-x.{'S' * 32}")
    assert read_key_text(TEXT.text) == TEXT
    assert len(TEXT.hash) == 64
    assert TEXT.hash.startswith(TEXT.id)
    assert "SSS" not in repr(TEXT)


@pytest.mark.parametrize("text", ["", "dck_", "dck_a.", f"dck_.{'S' * 32}", f"dck_a#b.{'S' * 32}", f"x{TEXT.text}"])
def test_api_key_other_text_is_refused(text: str) -> None:
    with pytest.raises(KeyTextError):
        read_key_text(text)


def test_api_key_opens_until_it_expires() -> None:
    assert KEY.opens(TEXT, 99.9)
    assert not KEY.opens(TEXT, 100)
    assert not KEY.opens(key_text("acme_1-x", "T" * 32), 1)
    assert not replace(KEY, hash=TEXT.id + "0" * 48).opens(TEXT, 1)


def test_api_key_scope_is_its_job_or_its_scopes() -> None:
    scopes = frozenset({"jobs:write:tag=a", "jobs:read"})
    key = replace(KEY, job_id=no_job(scopes), scopes=scopes)
    assert (KEY.scope, key.scope) == ("run:report", "jobs:read jobs:write:tag=a")
    assert not is_id(key.job_id)


def test_api_key_debounces_requests_by_their_payload() -> None:
    key = replace(KEY, debounce_seconds=60, debounce_key="{{payload.repo.name}}")
    assert KEY.debounced({}) is None
    first = key.debounced({"repo": {"name": "a"}})
    assert key.debounced({"repo": {"name": "a", "n": 2}}) == first
    others = [key.debounced({"repo": {"name": name}}) for name in ("a/b", "a_b", "東京", "大阪", "{{x}}", "x" * 900)]
    assert len({first, *others, replace(key, id="other").debounced({"repo": {"name": "a"}})}) == 8
    assert replace(key, debounce_key=None).debounced(None) == f"{KEY.id} report"


def test_api_key_accepts_bodies_signed_with_its_secret() -> None:
    key, body = replace(KEY, salt="salt"), b'{"a": 1}'
    secret = TEXT.secret("salt")
    signature = f"sha256={hmac.digest(secret.encode(), body, 'sha256').hex()}"
    assert key.accepts(TEXT, body, signature)
    for wrong in ("", "sha256=", signature.removeprefix("sha256="), signature.upper(), f"{signature} ", "sha256=é"):
        assert not key.accepts(TEXT, body, wrong)
    assert not key.accepts(TEXT, b'{"a": 2}', signature)
    assert not replace(key, salt="other").accepts(TEXT, body, signature)
    assert len({TEXT.secret("salt"), TEXT.secret("other"), key_text("acme_1-x", "T" * 32).secret("salt")}) == 3
    assert "salt='salt'" not in repr(key)
