"""The receiver takes its time when a call asks it to."""

from __future__ import annotations

import httpx
import pytest

from duecourse.cli.local.demo.receiver import FAIL_PATH, MAX_SECONDS, OK_PATH, CallLog, Receiver, thinking_seconds
from tests.support.waiting import PATIENCE_SECONDS


@pytest.mark.parametrize("path", [OK_PATH, FAIL_PATH])
def test_an_answer_takes_as_long_as_the_call_asks(path: str) -> None:
    log = CallLog()
    paused: list[tuple[float, int]] = []
    with Receiver(log, pause=lambda seconds: paused.append((seconds, len(log.calls)))) as receiver:
        httpx.post(f"{receiver.url}{path}?seconds=20", timeout=PATIENCE_SECONDS, trust_env=False)

    assert paused == [(20.0, 1)], "the call is recorded when it arrives, not when it is answered"


def test_a_call_that_asks_for_nothing_is_answered_at_once() -> None:
    paused: list[float] = []
    with Receiver(CallLog(), pause=paused.append) as receiver:
        assert httpx.post(receiver.url + OK_PATH, timeout=PATIENCE_SECONDS, trust_env=False).status_code == 200

    assert paused == []


@pytest.mark.parametrize(
    ("query", "seconds"),
    [("", 0), ("seconds=0.15", 0.15), ("seconds=soon", 0), ("seconds=-1", 0), ("seconds=nan", 0), ("seconds=1e9", 900)],
)
def test_only_a_sensible_number_of_seconds_is_heeded(query: str, seconds: float) -> None:
    assert thinking_seconds(query) == seconds <= MAX_SECONDS
