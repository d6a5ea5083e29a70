"""The token by which whoever works on a run reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.runs.callbacks import CallbackToken, TokenError, read_token
from tests.support.start_requests import SECRET, TOKEN

TOKENS = st.builds(
    CallbackToken,
    st.from_regex(ID_PATTERN, fullmatch=True),
    st.integers(1, 999_999_999),
    st.from_regex(r"[A-Za-z0-9_-]{12,64}", fullmatch=True),
)


@given(TOKENS)
def test_a_token_is_read_as_it_was_written(token: CallbackToken) -> None:
    assert read_token(str(token)) == token


@given(TOKENS, TOKENS)
def test_a_token_opens_its_own_record_and_no_other(one: CallbackToken, other: CallbackToken) -> None:
    assert one.opens(one.hash)
    assert one.opens(other.hash) is (one == other)


def test_a_token_names_tenant_and_attempt() -> None:
    assert str(TOKEN) == f"dc1.default.1.{SECRET}"


@pytest.mark.parametrize(
    "other",
    [
        CallbackToken("default", 2, SECRET),
        CallbackToken("defaulu", 1, SECRET),
        CallbackToken("default", 1, SECRET + "x"),
    ],
    ids=["attempt", "tenant", "secret"],
)
def test_a_token_of_another_attempt_tenant_or_secret_opens_nothing(other: CallbackToken) -> None:
    assert not other.opens(TOKEN.hash)


def test_a_record_without_a_hash_is_opened_by_no_token() -> None:
    assert not TOKEN.opens(None)
    assert not TOKEN.opens("")


def test_a_hash_is_compared_to_its_last_character() -> None:
    assert not TOKEN.opens(TOKEN.hash[:-1] + ("0" if TOKEN.hash[-1] != "0" else "1"))
    assert not TOKEN.opens(TOKEN.hash[:-1])


def test_what_is_stored_tells_nothing_of_the_secret() -> None:
    assert SECRET not in TOKEN.hash
    assert len(TOKEN.hash) == 64


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dc1",
        f"dc2.default.1.{SECRET}",
        f"dc1.default.0.{SECRET}",
        f"dc1.default.01.{SECRET}",
        f"dc1.default.-1.{SECRET}",
        f"dc1.default.1234567890.{SECRET}",
        f"dc1.default.١.{SECRET}",
        f"dc1..1.{SECRET}",
        f"dc1.de#fault.1.{SECRET}",
        f"dc1.{'d' * 65}.1.{SECRET}",
        "dc1.default.1.short",
        f"dc1.default.1.{'s' * 65}",
        f"dc1.default.1.{SECRET}.more",
        f"dc1.default.1.{SECRET}\n",
        f" dc1.default.1.{SECRET}",
        f"dc1xdefault.1.{SECRET}",
    ],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(TokenError, match="is not a run's token"):
        read_token(text)
