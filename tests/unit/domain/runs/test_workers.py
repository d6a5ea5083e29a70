"""The notes of pull workers, and what the noted run shows about them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.jobs.job import Completion, Job
from duecourse.domain.runs.callbacks import ProgressReport, decide_heartbeat
from duecourse.domain.runs.states import Attempt, AttemptOutcome, Run, Running, RunState, Waiting, attempts_of
from duecourse.domain.runs.workers import (
    GROUP_SIZE,
    GROUPS,
    KEPT_SECONDS,
    LISTED_SECONDS,
    NOTED_SECONDS,
    Sighting,
    WorkerGroup,
    WorkerStatus,
    group_of,
    listed,
    noted,
)
from tests.support.examples import examples
from tests.support.jobs import NOON, job
from tests.support.runs import run, waiting_run
from tests.support.varied import varied

CALLED: Job = job(id="steady", completion=Completion.CALLBACK, heartbeat_seconds=60)
WAITING = waiting_run(CALLED, attempt=1)


def sighting(name: str = "host-7", at: float = NOON, of: Run = WAITING, attempt: int = 1) -> Sighting:
    return Sighting(name, at, of.run_id, attempt)


def group(*sightings: Sighting) -> WorkerGroup:
    found = WorkerGroup()
    for each in sightings:
        found = noted(found, each) or found
    return found


def test_workers_are_noted_once_in_ten_minutes() -> None:
    first = group(sighting())
    assert (first.sightings, first.version) == ((sighting(),), 1)
    assert noted(first, sighting(at=NOON + NOTED_SECONDS - 1)) is None
    assert noted(first, sighting(at=NOON - 4)) is None  # the clock of another process
    later = noted(first, sighting(at=NOON + NOTED_SECONDS))
    assert later is not None
    assert (later.sightings, later.version) == ((sighting(at=NOON + NOTED_SECONDS),), 2)


def test_workers_of_another_name_are_noted_at_once() -> None:
    assert [each.name for each in group(sighting("a"), sighting("b", NOON + 1)).sightings] == ["b", "a"]


def test_workers_notes_are_removed_after_a_day() -> None:
    found = group(sighting("a"), sighting("b", NOON + KEPT_SECONDS))
    assert [each.name for each in found.sightings] == ["b"]
    assert found.displaced_at is None


def test_workers_beyond_the_size_of_a_group_displace_the_one_that_was_seen_first() -> None:
    found = group(*(sighting(f"host-{number}", NOON + number) for number in range(GROUP_SIZE + 2)))
    assert [each.name for each in found.sightings] == [f"host-{number}" for number in range(GROUP_SIZE + 1, 1, -1)]
    assert found.displaced_at == NOON + 1


def test_workers_that_would_no_longer_be_listed_are_displaced_silently() -> None:
    full = group(*(sighting(f"host-{number}", NOON + number) for number in range(GROUP_SIZE)))
    found = noted(full, sighting("new", NOON + LISTED_SECONDS))
    assert found is not None
    assert found.displaced_at is None
    assert len(found.sightings) == GROUP_SIZE


@examples(200)
@given(st.lists(st.tuples(st.sampled_from([f"w{each}" for each in range(30)]), st.integers(0, 90_000)), max_size=60))
def test_workers_group_is_bounded_and_has_one_note_of_each_name(reports: list[tuple[str, int]]) -> None:
    found = WorkerGroup()
    for name, at in reports:
        found = noted(found, sighting(name, NOON + at)) or found
        names = [each.name for each in found.sightings]
        assert len(names) == len(set(names)) <= GROUP_SIZE
        assert [each.at for each in found.sightings] == sorted((each.at for each in found.sightings), reverse=True)


def test_workers_three_hundred_names_fit_into_the_groups() -> None:
    groups = [0] * GROUPS
    for number in range(300):
        groups[group_of(f"ip-10-0-{number // 250}-{number % 250}.eu-central-1.compute.internal")] += 1
    assert max(groups) <= GROUP_SIZE


def test_workers_with_an_attempt_in_progress_work_and_their_last_heartbeat_counts() -> None:
    beaten = varied(WAITING, heartbeat_at=NOON + 40, heartbeat_until=NOON + 100, worker="host-7")
    shown = listed(sighting(), beaten, NOON + 50)
    assert (shown.seen_at, shown.status, shown.state) == (NOON + 40, WorkerStatus.WORKING, RunState.WAITING)


def test_workers_are_listed_with_the_attempt_to_which_their_status_refers() -> None:
    """The note is not renewed for a later attempt of the same worker."""
    failed = Attempt(1, NOON, NOON + 100, AttemptOutcome.FAILED, "no paper", "printer", "host-7")
    again = varied(waiting_run(CALLED, attempt=2), earlier=(failed,), worker="host-7", heartbeat_until=NOON + 100)
    shown = listed(sighting(), again, NOON + 50)
    assert (shown.attempt, shown.status) == (2, WorkerStatus.WORKING)
    other = varied(again, worker="host-8")
    shown = listed(sighting(), other, NOON + 50)
    assert (shown.attempt, shown.status) == (1, WorkerStatus.SEEN)


def test_workers_whose_heartbeat_is_overdue_are_silent() -> None:
    beaten = varied(WAITING, heartbeat_at=NOON + 40, heartbeat_until=NOON + 100, worker="host-7")
    assert listed(sighting(), beaten, NOON + 101).status is WorkerStatus.SILENT


def test_workers_without_a_stored_name_are_judged_by_the_noted_attempt() -> None:
    """The first heartbeat of an attempt is often not written."""
    assert listed(sighting(), WAITING, NOON + 1).status is WorkerStatus.WORKING
    assert listed(sighting(attempt=2), WAITING, NOON + 1).status is WorkerStatus.SEEN
    other = varied(WAITING, heartbeat_at=NOON + 1, worker="host-8")
    assert listed(sighting(), other, NOON + 2).status is WorkerStatus.SEEN


@pytest.mark.parametrize("worker", ["host-7", None])
@pytest.mark.parametrize("code", ["callback.heartbeat", "callback.timeout"])
def test_workers_whose_attempt_ended_without_a_report_stay_silent_until_they_are_noted_again(
    code: str, worker: str | None
) -> None:
    lost = Attempt(1, NOON, NOON + 100, AttemptOutcome.FAILED, "it did not arrive", code, worker)
    again = varied(waiting_run(CALLED, attempt=2), earlier=(lost,))
    assert listed(sighting(), again, NOON + 300).status is WorkerStatus.SILENT
    assert listed(sighting(at=NOON + 200), again, NOON + 300).status is WorkerStatus.SEEN


def test_workers_that_reported_a_failure_are_not_silent() -> None:
    failed = Attempt(1, NOON, NOON + 100, AttemptOutcome.FAILED, "no paper", "printer", "host-7")
    again = varied(waiting_run(CALLED, attempt=2), earlier=(failed,))
    assert listed(sighting(), again, NOON + 300).status is WorkerStatus.SEEN


def test_workers_whose_run_has_expired_are_only_seen() -> None:
    shown = listed(sighting(), None, NOON + 5)
    assert (shown.seen_at, shown.status, shown.state, shown.attempt) == (NOON, WorkerStatus.SEEN, None, 1)


def test_workers_name_alone_causes_no_write_of_a_heartbeat() -> None:
    alive = replace(WAITING, deadlines=replace(WAITING.deadlines, heartbeat_until=NOON + 900))
    assert isinstance(alive, Running | Waiting)
    assert decide_heartbeat(alive, 60, ProgressReport(worker="host-7"), now=NOON + 30) is None
    beat = decide_heartbeat(alive, 60, ProgressReport(0.5, worker="host-7"), now=NOON + 30)
    assert beat is not None
    assert beat.beaten(alive).callback.worker == "host-7"
    unnamed = decide_heartbeat(beat.beaten(alive), 60, ProgressReport(0.6), now=NOON + 40)
    assert unnamed is not None
    assert unnamed.beaten(beat.beaten(alive)).callback.worker == "host-7"


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED, RunState.RETRYING])
def test_workers_name_is_shown_with_the_last_attempt_in_any_state(state: RunState) -> None:
    ended = varied(run(CALLED, state), callback_hash="h" * 64, worker="host-7")
    assert attempts_of(ended)[-1].worker == "host-7"
