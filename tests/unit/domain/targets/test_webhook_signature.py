"""Signatures of calls, made by the workers and checked by receivers."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.targets.webhook_signature import SigningKeyError, signature_headers, signing_keys, webhook_id
from duecourse.webhooks import WebhookError, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + b64encode(b"another key of 24 bytes!").decode()
ID, NOW, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The published example of Standard Webhooks."""


def signed(secret: str = SECRET, **changes: str) -> dict[str, str]:
    return signature_headers(ID, NOW, BODY, signing_keys(secret)) | changes


def test_a_signature_is_the_one_of_the_specifications_example() -> None:
    wanted = {"webhook-id": ID, "webhook-timestamp": str(NOW), "webhook-signature": SIGNATURE}
    assert signed() == wanted
    assert verify(wanted, BODY, SECRET, now=NOW) == ID


@given(st.text(alphabet="ab.%2E5", max_size=12), st.text(alphabet="ab.%2E5", max_size=12))
def test_an_id_has_no_full_stop_and_stands_for_one_key_alone(one: str, other: str) -> None:
    assert "." not in webhook_id(one)
    assert (webhook_id(one) == webhook_id(other)) == (one == other)


@pytest.mark.parametrize(
    "secret",
    ["", " ", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_*", f"{SECRET} plain",
     "whsec_" + b64encode(b"x" * 65).decode()],
)  # fmt: skip
def test_a_secret_that_is_no_key_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(SigningKeyError) as refused:
        signing_keys(secret)
    assert "MfKQ" not in str(refused.value)


@pytest.mark.parametrize("known", [SECRET, OTHER, f"{OTHER} {SECRET}"])
def test_while_secrets_change_each_of_them_is_good(known: str) -> None:
    headers = signed(f"{SECRET} {OTHER}")
    assert len(headers["webhook-signature"].split()) == 2
    assert verify(headers, BODY, known, now=NOW) == ID


def test_headers_are_found_however_they_are_written_and_other_versions_passed_over() -> None:
    headers = {name.title(): value for name, value in signed().items()}
    headers["Webhook-Signature"] = f"v1a,abc v2,def {SIGNATURE}"
    assert verify(headers, BODY, SECRET, now=NOW) == ID


@pytest.mark.parametrize(
    ("headers", "body", "now", "said"),
    [
        (signed(), BODY + b" ", NOW, "no signature fits"),
        (signed(OTHER), BODY, NOW, "no signature fits"),
        (signed(**{"webhook-id": "another"}), BODY, NOW, "no signature fits"),
        (signed(**{"webhook-timestamp": str(NOW + 1)}), BODY, NOW, "no signature fits"),
        (signed(**{"webhook-signature": SIGNATURE.replace("v1,", "v1a,")}), BODY, NOW, "no signature fits"),
        (signed(**{"webhook-signature": ""}), BODY, NOW, "no signature fits"),
        (signed(**{"webhook-timestamp": "soon"}), BODY, NOW, "no number"),
        (signed(**{"webhook-timestamp": "-5"}), BODY, NOW, "no number"),
        (signed(), BODY, NOW + 301, "too far"),
        (signed(), BODY, NOW - 301, "too far"),
        ({"webhook-id": ID, "webhook-timestamp": str(NOW)}, BODY, NOW, "webhook-signature is missing"),
    ],
)
def test_what_was_changed_is_old_or_is_not_signed_is_not_trusted(
    headers: Any, body: bytes, now: int, said: str
) -> None:
    with pytest.raises(WebhookError, match=said):
        verify(headers, body, SECRET, now=now)


def test_within_the_tolerance_clocks_may_differ() -> None:
    assert verify(signed(), BODY, SECRET, now=NOW + 300) == verify(signed(), BODY, SECRET, now=NOW - 300) == ID


@pytest.mark.parametrize("secret", ["", "plain", "whsec_***"])
def test_a_receiver_without_a_secret_trusts_nothing(secret: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - binascii's own words
        verify(signed(), BODY, secret, now=NOW)
