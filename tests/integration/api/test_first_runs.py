"""What is due within two minutes of a job's creation is sent at once, best effort and without a claim."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from duecourse.domain.jobs.job import Lane
from duecourse.ports import Outgoing
from duecourse.testing.clock import SettableClock
from tests.support.api import BODY, ApiClient
from tests.support.jobs import NOON
from tests.support.tables import Tables


def created(api: ApiClient, **changes: Any) -> Any:
    answer = api.post(BODY | changes)
    assert answer.status == 201, answer.text
    return answer.json


def test_the_first_two_minutes_are_sent_at_once_and_the_cursor_stays(
    api: ApiClient, clock: SettableClock, tables: Tables
) -> None:
    clock.set(NOON + 0.4)
    created(api, id="steady", schedule="rate(30 seconds)")
    sent = [(str(one.message.name), one.delay_seconds) for one in api.wheel.sent]
    assert sent == [
        ("steady.20261121T120030Z", 30),
        ("steady.20261121T120100Z", 60),
        ("steady.20261121T120130Z", 90),
        ("steady.20261121T120200Z", 120),
    ]
    stored = tables.job_store(clock).get_cursor("default", "steady")
    assert stored is not None
    assert stored.occurrence == NOON + 30


def test_what_is_sent_at_once_goes_to_the_lane_of_the_job_in_its_precision(api: ApiClient) -> None:
    created(api, schedule="at(2026-11-21T12:00:20)", priority="low", precision="exact")
    created(api, schedule="at(2026-11-21T12:00:20)", priority="high", timeout_seconds=600)
    low, long = api.wheel.sent
    assert (low.message.lane, low.delay_seconds) == (Lane.LOW, 19)
    assert (long.message.lane, long.delay_seconds) == (Lane.LONG, 20)


def test_a_job_that_is_due_later_sends_nothing_yet(api: ApiClient) -> None:
    created(api, schedule="0 0 1 1 *")
    assert api.wheel.sent == []


def test_a_queue_that_refuses_does_not_fail_the_creation(api: ApiClient, capsys: pytest.CaptureFixture[str]) -> None:
    api.wheel.refuse = lambda _: True
    created(api, id="steady")
    line = api.lines[-1]
    assert (line["action"], line["job_id"], line["sent"], line["unsent"]) == ("job_created", "steady", 0, 12)
    refused, failures = map(json.loads, capsys.readouterr().out.splitlines())
    assert refused["SendsRefused"] == [12.0]
    assert (failures["symptom"], failures["Failures"]) == ("dispatch", [12.0])


def test_a_queue_that_fails_does_not_fail_the_creation(tables: Tables, clock: SettableClock) -> None:
    class Broken:
        def send(self, _outgoing: Sequence[Outgoing]) -> list[bool]:
            raise ConnectionError("no route to the queue")

    api = ApiClient.over(tables, clock, lanes=Broken())
    created(api, id="steady")
    line = api.lines[-1]
    assert (line["unsent"], line["send_error"]) == (12, "ConnectionError: no route to the queue")
