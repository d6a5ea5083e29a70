"""How a worker keeps its message hidden and its run alive, on a clock that is advanced."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.worker.keeper import Keeper
from duecourse.worker.queue import TaskMessage, read_run
from duecourse.worker.rhythm import MAX_HEARTBEAT_SECONDS, MIN_BEAT, Rhythm, beat_after
from tests.support.worker import ALIVE, EVENT, OVER, Api, Clock, MemoryQueue, without_callback

HIDDEN = 60


class Kept:
    """A keeper and what stands round it."""

    def __init__(self, body: str = json.dumps(EVENT)) -> None:
        self.api, self.queue, self.clock = Api(), MemoryQueue(), Clock()
        self.run = read_run(body)
        self.keeper = Keeper(
            self.queue, TaskMessage(body, "r"), self.run, self.api.client, hidden_seconds=HIDDEN, clock=self.clock
        )

    def after(self, seconds: float) -> float:
        self.clock.now += seconds
        return self.keeper.tick()


def test_the_next_heartbeat_comes_after_a_third_of_what_is_left():
    kept = Kept()  # the API's clock is at 06:47:30, the next heartbeat is due at 06:48:00
    assert kept.after(0) == pytest.approx(10)
    kept.after(9.9)
    assert kept.api.beats == 1
    kept.after(0.1)
    assert kept.api.beats == 2


def test_the_message_is_hidden_anew_after_a_third_of_its_time():
    kept = Kept(without_callback())
    assert kept.after(0) == pytest.approx(20)
    assert kept.queue.hidden == []
    kept.after(20)
    kept.after(20)
    assert [seconds for _, seconds in kept.queue.hidden] == [HIDDEN, HIDDEN]


def test_a_run_without_a_callback_has_no_heartbeats():
    kept = Kept(without_callback())
    kept.after(0)
    kept.keeper.beat()
    assert kept.api.said == []


def test_a_job_that_asks_for_no_heartbeats_is_still_asked_once_a_minute():
    kept = Kept()
    kept.api.will("heartbeat", (200, ALIVE | {"heartbeat_until": None}))
    kept.after(0)
    kept.after(59)
    assert kept.api.beats == 1
    kept.after(1)
    assert kept.api.beats == 2


def test_a_heartbeat_that_nobody_hears_is_sent_again_a_second_later():
    kept = Kept()
    kept.api.will("heartbeat", None)
    assert kept.after(0) == pytest.approx(1)
    assert not kept.run.cancelled.is_set()
    assert kept.after(1) == pytest.approx(10)


def test_an_attempt_that_is_over_is_beaten_no_more_but_its_message_stays_hidden():
    kept = Kept()
    kept.api.will("heartbeat", OVER)
    assert kept.after(0) == pytest.approx(20)
    assert kept.keeper.over()
    assert kept.run.cancelled.is_set()
    kept.after(20)
    kept.keeper.beat()
    assert kept.api.beats == 1
    assert len(kept.queue.hidden) == 1


def test_a_run_that_is_to_end_is_kept_alive_until_its_task_has_ended():
    kept = Kept()
    kept.api.will("heartbeat", (200, ALIVE | {"cancel_requested": True, "reason": "replaced"}))
    kept.after(0)
    assert kept.run.cancelled.is_set()
    assert not kept.keeper.over()
    kept.after(10)
    assert kept.api.beats == 2


@given(st.none() | st.floats(-1e6, 1e6))
def test_beats_are_never_closer_than_a_second_nor_rarer_than_once_a_minute(left):
    assert MIN_BEAT <= beat_after(left) <= MAX_HEARTBEAT_SECONDS


@given(st.floats(3, 1e6))
def test_two_beats_may_be_lost_before_time_runs_out(left):
    assert 3 * beat_after(left) <= left * 1.000001


@given(now=st.floats(0, 1e9), retry_after=st.none() | st.floats(0, 1e9))
def test_a_wish_of_the_api_is_heeded_up_to_a_minute(now, retry_after):
    rhythm = Rhythm.starting(now, HIDDEN, beats=True).unheard(now, retry_after)
    assert rhythm.beat_at is not None
    assert MIN_BEAT * 0.999 <= rhythm.beat_at - now <= MAX_HEARTBEAT_SECONDS * 1.001
