"""A run's states and its attempts.

- The record of a run.
- The list of a run's attempts: what the record keeps of those that are over.
- What of a row of occurrences no record answers for.
"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.ids import RunName
from duecourse.domain.jobs.job import Backoff, Lane, RetryPolicy
from duecourse.domain.runs.coverage import OccurrenceRange, Recorded, unrecorded
from duecourse.domain.runs.decision import CancelAsked, Ended, Event, Start, Transition
from duecourse.domain.runs.states import (
    LOST,
    LOST_ERROR,
    MAX_ATTEMPTS,
    MAX_ERROR,
    Attempt,
    AttemptOutcome,
    Run,
    RunState,
    attempts_of,
    is_written_as,
)
from duecourse.domain.runs.transitions import decide
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from tests.support.jobs import NOON, job
from tests.support.start_requests import DUE, context, run, start_request
from tests.support.varied import varied


def test_run_records_state_is_final_if_only_a_redrive_can_follow() -> None:
    assert {state for state in RunState if state.final} == {
        RunState.SUCCEEDED,
        RunState.DEAD,
        RunState.CANCELLED,
        RunState.SKIPPED,
    }


def test_run_records_run_is_named_by_job_occurrence_and_suffix() -> None:
    assert run(suffix=".m1").name == RunName("tick-tock", DUE, ".m1")


def test_run_records_lateness_is_measured_from_the_due_second_to_the_first_start() -> None:
    assert run(due=DUE + 5, first_started_at=DUE + 5.25, started_at=DUE + 99.0).lateness == 0.25


def test_run_records_run_that_never_started_has_no_lateness() -> None:
    assert run(RunState.SKIPPED, attempt=0).lateness is None


def test_run_records_write_is_identified_by_its_writer_state_and_attempt() -> None:
    written = run()
    assert is_written_as(written, varied(written, expires_at=1, error="whatever"))
    assert not is_written_as(written, replace(written, fencing_token="request-9/message-1"))
    assert not is_written_as(written, varied(written, state=RunState.SUCCEEDED))
    assert not is_written_as(written, varied(written, attempt=2))


JOB = job(retry=RetryPolicy(3, Backoff.FIXED, 10, 10))


def after(event: Event, run: Run | None, at: float, *, by: str = "message-1") -> Run:
    """The record that a decision at DUE + `at` writes."""
    decided = decide(event, JOB, run, context(by, lease_until=DUE + at + 60), now=DUE + at)
    assert isinstance(decided, (Start, Transition)), decided
    return decided.run


def started(run: Run | None, at: float, **changes: object) -> Run:
    attempt = 1 if run is None else run.attempt + 1
    offered = start_request(attempt=attempt, nonce=f"nonce-{attempt}", **changes)
    return after(offered, run, at, by=f"message-{attempt}")


def ended(run: Run, at: float, outcome: Outcome | None = None) -> Run:
    failed = Failed(f"no, {run.attempt}", code="http.503")
    return after(Ended(outcome or failed, 0.0), run, at)


def earlier(run: Run) -> tuple[Attempt, ...]:
    return () if run.attempts is None else run.attempts.earlier


def failed(number: int, begun: float, over: float) -> Attempt:
    return Attempt(number, DUE + begun, DUE + over, AttemptOutcome.FAILED, f"no, {number}", "http.503")


def test_run_records_run_that_succeeds_at_its_first_attempt_has_no_list_of_attempts() -> None:
    running = started(None, 0.5)
    assert attempts_of(running) == (Attempt(1, DUE + 0.5, None, None),)
    done = ended(running, 2, Returned("fine"))
    assert (earlier(running), earlier(done)) == ((), ())
    assert attempts_of(done) == (Attempt(1, DUE + 0.5, DUE + 2, AttemptOutcome.SUCCEEDED),)


def test_run_records_run_that_has_not_started_has_no_attempts() -> None:
    never = varied(started(None, 0), state=RunState.QUEUED, attempt=0)
    assert attempts_of(never) == ()


def test_run_records_failed_attempt_is_stored_when_the_next_one_begins() -> None:
    retrying = ended(started(None, 0), 1)
    assert (earlier(retrying), attempts_of(retrying)) == ((), (failed(1, 0, 1),))
    again = ended(started(retrying, 11), 12)
    assert earlier(again) == (failed(1, 0, 1),)
    assert attempts_of(ended(started(again, 22), 25, Returned("fine"))) == (
        failed(1, 0, 1),
        failed(2, 11, 12),
        Attempt(3, DUE + 22, DUE + 25, AttemptOutcome.SUCCEEDED),
    )


def test_run_records_dead_run_shows_all_attempts_and_a_redrive_continues_their_numbers() -> None:
    dead = ended(started(ended(started(ended(started(None, 0), 1), 11), 12), 22), 23)
    assert dead.state is RunState.DEAD
    told = (failed(1, 0, 1), failed(2, 11, 12), failed(3, 22, 23))
    assert attempts_of(dead) == told
    assert attempts_of(started(dead, 100, redrive=True)) == (*told, Attempt(4, DUE + 100, None, None))


def test_run_records_attempt_whose_worker_vanished_is_lost() -> None:
    first = started(None, 0)
    taken_over = after(start_request(), first, 200)
    lost = Attempt(1, DUE + 0.0, None, AttemptOutcome.LOST, LOST_ERROR, LOST)
    assert attempts_of(taken_over) == (lost, Attempt(2, DUE + 200, None, None))
    last = replace(taken_over, attempts_allowed=2)
    dead = after(start_request(), last, 400)
    assert (dead.state, dead.code) == (RunState.DEAD, LOST)
    assert attempts_of(dead)[-1].outcome is AttemptOutcome.LOST


def test_run_records_run_cancelled_before_its_next_attempt_keeps_the_end_of_the_last_one() -> None:
    retrying = ended(started(None, 0), 1)
    cancel = CancelAsked(start_request(nonce="cancel", attempt=1), "cancelled")
    cancelled = after(cancel, retrying, 5)
    assert (cancelled.state, cancelled.finished_at) == (RunState.CANCELLED, DUE + 5)
    assert attempts_of(cancelled) == (failed(1, 0, 1),)


def test_run_records_cancelled_attempt_is_not_a_failure() -> None:
    told = replace(started(None, 0), cancel_requested="cancelled")
    cancelled = ended(told, 1)
    assert cancelled.state is RunState.CANCELLED
    assert attempts_of(cancelled) == (Attempt(1, DUE + 0.0, DUE + 1, AttemptOutcome.CANCELLED),)


def test_run_records_last_twenty_attempts_are_stored_with_truncated_errors() -> None:
    run = started(None, 0)
    for number in range(1, 31):
        run = ended(replace(run, attempts_allowed=99), number * 20, Failed("x" * 500, code="http.500"))
        run = started(run, number * 20 + 10)
    assert [each.number for each in earlier(run)] == list(range(11, 31))
    assert [each.number for each in attempts_of(run)] == list(range(12, 32))
    assert len(attempts_of(run)) == MAX_ATTEMPTS
    assert {len(each.error or "") for each in earlier(run)} == {MAX_ERROR}


MINUTELY = job("* * * * *").occurrences()
T0 = int(NOON)


def minute(number: int) -> int:
    return T0 + 60 * number


def record(first: int, last: int | None = None) -> Recorded:
    """A record of the minutes from the first through the last after NOON."""
    through = minute(first if last is None else last)
    return Recorded(minute(first), through, minute(first), Lane.NORMAL, ran=True)


def parts(first: int, last: int, *records: Recorded, most: int = 50) -> list[tuple[int, int, int]]:
    whole = OccurrenceRange(minute(first), minute(last), last - first + 1)
    found = unrecorded(MINUTELY, whole, records, most=most)
    return [((gap.first - T0) // 60, (gap.last - T0) // 60, gap.count) for gap in found]


def test_run_records_range_without_records_stays_whole_and_is_not_iterated() -> None:
    week = OccurrenceRange(minute(1), minute(1) + 7 * 86_400, 10_000)
    assert unrecorded(MINUTELY, week, (), most=50) == [week]


def test_run_records_recorded_occurrences_are_removed_at_any_position_of_a_range() -> None:
    assert parts(1, 10, record(1)) == [(2, 10, 9)]
    assert parts(1, 10, record(10)) == [(1, 9, 9)]
    assert parts(1, 10, record(7), record(3)) == [(1, 2, 2), (4, 6, 3), (8, 10, 3)]
    assert parts(1, 10, record(3, 6)) == [(1, 2, 2), (7, 10, 4)]
    assert parts(1, 3, record(1), record(2), record(3)) == []


def test_run_records_record_that_crosses_an_end_of_a_range_covers_the_part_within_it() -> None:
    assert parts(3, 10, record(1, 4)) == [(5, 10, 6)]
    assert parts(1, 5, record(4, 9)) == [(1, 3, 3)]
    assert parts(2, 3, record(1, 9)) == []


def test_run_records_last_allowed_part_extends_to_the_end_of_the_range() -> None:
    assert parts(1, 10, record(2), record(4), record(6), most=2) == [(1, 1, 1), (3, 10, 8)]


def test_run_records_range_counted_up_to_a_limit_keeps_its_length_in_the_last_part() -> None:
    whole = OccurrenceRange(minute(1), minute(20_000), 10_000)
    assert unrecorded(MINUTELY, whole, [record(3)], most=50) == [
        OccurrenceRange(minute(1), minute(2), 2),
        OccurrenceRange(minute(4), minute(20_000), 9_997),
    ]


@given(st.integers(1, 30), st.integers(0, 30), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=8))
def test_run_records_parts_and_records_form_the_whole_range_without_overlap(
    first: int, length: int, drawn: list[tuple[int, int]]
) -> None:
    last = first + length
    records = [record(begin, begin + more) for begin, more in drawn]
    covered = {each for begin, more in drawn for each in range(begin, begin + more + 1)}
    found = parts(first, last, *records)
    minutes = [each for begin, end, _ in found for each in range(begin, end + 1)]
    assert minutes == sorted(set(range(first, last + 1)) - covered)
    assert all(count == end - begin + 1 for begin, end, count in found)
