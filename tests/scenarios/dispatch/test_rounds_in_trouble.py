"""Rounds and timers in trouble.

- A cursor, a record or an hour that holds a round up costs nobody else anything.
- Timers that the table does not let be cleared.
"""

import pytest

from duecourse.domain.jobs.job import Backoff, MissedMode, MissedPolicy, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Returned
from duecourse.ports import Claimed, ClaimResult, StoreBusyError
from duecourse.testing.faults import around, before, failing
from duecourse.usecases.jobs.view import view_of
from tests.support.jobs import NOON, cursor, job
from tests.support.world import World


@pytest.mark.tables
def test_dispatch_round_quarantines_a_failed_cursor_again_that_an_older_version_released(world: World) -> None:
    world.add(job("* * * * *", id="broken"))
    key = {"PK": {"S": "JOB#default#broken"}, "SK": {"S": "CURSOR"}}
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key=key,
        UpdateExpression="SET #error = :error",
        ExpressionAttributeNames={"#error": "error"},
        ExpressionAttributeValues={":error": {"S": "no such zone"}},
    )
    report = world.dispatch()
    assert (report.counts["CursorsQuarantined"], report.counts["Enqueued"], report.counts["ClaimsLost"]) == (1, 0, 0)
    assert "slot" not in world.tables.client.get_item(TableName=world.tables.jobs, Key=key)["Item"]


@pytest.mark.parametrize(
    "rules",
    [
        '{"expression":5,"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","jitter_seconds":"5","missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","missed":{"mode":"skip","grace_seconds":"a","max_missed":1}}',
        '{"expression":"* * * * *","exclude":[7],"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
        '{"expression":"* * * * *","timezone":5,"missed":{"mode":"skip","grace_seconds":60,"max_missed":1}}',
    ],
)
@pytest.mark.tables
def test_dispatch_round_quarantines_a_cursor_of_wrong_types_without_blocking_others(world: World, rules: str) -> None:
    world.add(job("rate(10 seconds)", id="good"))
    world.add(job("rate(10 seconds)", id="bad"))
    world.tables.client.update_item(
        TableName=world.tables.jobs,
        Key={"PK": {"S": "JOB#default#bad"}, "SK": {"S": "CURSOR"}},
        UpdateExpression="SET #rules = :rules",
        ExpressionAttributeNames={"#rules": "rules"},
        ExpressionAttributeValues={":rules": {"S": rules}},
    )
    world.until(NOON + 200)
    assert [second for second, _ in world.states("good")] == list(range(10, 201, 10))
    assert world.count("CursorsQuarantined") == 1


HOURS_EXCLUDED = ("*/2 13-23 21 11 *", "*/2 * 22-30 11 *", "*/2 * * 1-10,12 *")
"""All occurrences of `rate(2 minutes)` from 13:00 on, too many to find the next one."""


def quarantined(world: World, job_id: str = "bad") -> tuple[str | None, str | None]:
    """The error of the cursor, and the one that the API shows."""
    stored, definition = world.jobs.get_cursor("default", job_id), world.jobs.get("default", job_id)
    assert stored is not None
    assert definition is not None
    return stored.error, view_of(definition, stored, now=world.clock.now()).error


@pytest.mark.parametrize("jitter", [0, 20])
def test_dispatch_round_runs_the_due_occurrence_of_a_job_whose_next_one_cannot_be_found(
    world: World, jitter: int
) -> None:
    world.add(job("rate(10 seconds)", id="good"))
    world.add(job("rate(2 minutes)", id="bad", exclude=HOURS_EXCLUDED, jitter_seconds=jitter))
    world.until(NOON + 3700)
    assert [second for second, _ in world.states("good")] == list(range(10, 3701, 10))
    assert world.states("bad") == [(second, RunState.SUCCEEDED) for second in range(120, 3600, 120)]
    assert world.count("CursorsQuarantined") == 1
    logged = [event for report in world.reports for event in report.events if event.action == "cursor_quarantined"]
    assert [event.facts["job_id"] for event in logged] == ["bad"]
    for error in quarantined(world):
        assert "takes too long" in (error or "")
    assert world.repair().counts["CursorsReleased"] == 0


@pytest.mark.parametrize("mode", MissedMode)
def test_dispatch_round_records_missed_occurrences_of_a_job_whose_next_one_cannot_be_found(
    world: World, mode: MissedMode
) -> None:
    missed = MissedPolicy(mode=mode, grace_seconds=60, max_missed=2)
    world.add(job("rate(2 minutes)", id="bad", exclude=HOURS_EXCLUDED, missed=missed, jitter_seconds=20))
    world.until(NOON + 3000)
    world.clock.set(NOON + 7200)
    world.until(NOON + 7400)
    runs = world.runs("bad")
    assert sum(run.count for run in runs) == 29
    last = runs[-1]
    assert ((last.through or last.occurrence) - NOON, last.count, last.state) == {
        MissedMode.SKIP: (3480, 2, RunState.SKIPPED),
        MissedMode.RUN_ONCE: (3480, 2, RunState.SUCCEEDED),
        MissedMode.RUN_ALL: (3480, 1, RunState.SUCCEEDED),
    }[mode]
    assert "takes too long" in (quarantined(world)[0] or "")


def test_worker_starts_a_late_run_whose_next_occurrence_cannot_be_found(world: World) -> None:
    missed = MissedPolicy(mode=MissedMode.RUN_ONCE, grace_seconds=60)
    world.add(job("rate(2 minutes)", id="bad", exclude=HOURS_EXCLUDED, missed=missed))
    world.until(NOON + 3450)
    world.clock.set(NOON + 3900)  # the message of 12:58 waits
    world.until(NOON + 4000)
    assert world.states("bad")[-1] == (3480, RunState.SUCCEEDED)
    assert world.count("MessagesLeft") == 0


def test_dispatch_round_that_runs_out_of_time_among_empty_hours_continues_from_there(world: World) -> None:
    world.clock.set(NOON + 400 * 86_400)
    first = world.cursors.watermark(0)
    world.dispatch(around(world.cursors, due=before(lambda: world.clock.advance(0.05))))
    last = world.cursors.watermark(0)
    assert first is not None
    assert last is not None
    assert first < last < "2027-12-26"


def run_all_after_an_outage(world: World) -> None:
    """Two jobs that missed more than they run again; one of them needs its records for the plan."""
    catching_up = MissedPolicy(MissedMode.RUN_ALL, max_missed=3)
    world.add(job("* * * * *", id="late", missed=catching_up))
    world.add(job("* * * * *", id="other", missed=MissedPolicy(MissedMode.SKIP)))
    world.until(NOON + 130)
    world.until(NOON + 3600, ticking=False)


@pytest.mark.parametrize("error", [StoreBusyError("throttled"), TimeoutError(), OSError("no"), KeyError("state")])
@pytest.mark.parametrize("times", [1, 3])
def test_dispatch_round_leaves_a_healthy_job_with_unreadable_records_to_the_next_round(
    world: World, error: Exception, times: int
) -> None:
    run_all_after_an_outage(world)
    unread = failing(error, when=lambda _, job_id, *__, **___: job_id == "late")
    with world.faulty("run_store", between=unread):
        for _ in range(times):
            report = world.dispatch()
            assert (report.counts["CursorsQuarantined"], report.counts["ClaimsDeferred"]) == (0, 1)
        assert unread.hits == times
        world.work()
        assert world.runs("other")[-1].state is RunState.SUCCEEDED
    world.until(NOON + 3900)
    assert world.jobs.get_both("default", "late")[1].error is None
    assert [run.occurrence - int(NOON) for run in world.runs("late")][-2:] == [3840, 3900]
    skipped = [run for run in world.runs("late") if run.state is RunState.SKIPPED]
    assert sum(run.count for run in skipped) > 10


def test_dispatch_round_with_slowly_failing_reads_continues_with_the_other_cursors(world: World) -> None:
    for number in range(12):
        world.add(job("* * * * *", id=f"late-{number}", missed=MissedPolicy(MissedMode.RUN_ALL, max_missed=3)))
    run_all_after_an_outage(world)

    def slow(_: str, job_id: str, *__: object, **___: object) -> bool:
        if job_id == "other":
            return False
        world.clock.advance(4)
        return True

    unread = failing(TimeoutError(), when=slow)
    world.run_store = around(world.run_store, between=unread)
    report = world.dispatch()
    assert unread.hits == 3
    assert (report.counts["ClaimsDeferred"], report.counts["CursorsQuarantined"], report.counts["ClaimsWon"]) == (
        13,
        0,
        1,
    )


def test_dispatch_round_claims_other_jobs_if_the_records_of_one_cannot_be_read(world: World) -> None:
    for name in ("a", "b", "c"):
        world.add(job("*/5 * * * *", id=name, missed=MissedPolicy(MissedMode.SKIP)))
    world.clock.set(NOON + 3600)

    def skipped() -> list[int]:
        return [len([run for run in world.runs(name) if run.count > 1]) for name in ("a", "b", "c")]

    with world.faulty("run_store", between=failing(OSError("no"), when=lambda _, job_id, *__, **___: job_id == "a")):
        assert world.dispatch().counts["ClaimsDeferred"] == 1
    assert skipped() == [0, 1, 1]
    world.dispatch()
    assert skipped() == [1, 1, 1]


def test_dispatch_round_reports_a_timer_that_cannot_be_cleared_and_delays_no_other(world: World) -> None:
    hours = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=7200, max_seconds=7200)
    world.caller.answer = lambda call: Failed("no") if (call.job.id, call.run.attempt) == ("waits", 1) else Returned()
    world.add(job("at(2026-11-21T12:01:00)", id="waits", retry=hours))
    world.until(NOON + 120)
    of = job("0 14 * * *", id="others")
    world.jobs.create(of, cursor(of))
    refused = Claimed(ClaimResult.REFUSED, "ValidationError: no")
    world.cursors = around(world.cursors, clear=lambda _, timers: [refused for _ in timers])
    world.until(NOON + 7500)
    assert [(run.state, run.attempt) for run in world.runs("waits")] == [(RunState.SUCCEEDED, 2)]
    assert [(run.occurrence - NOON, run.attempt) for run in world.runs("others")] == [(7200, 1)]
    assert world.count("ClaimsFailed") == 0
    assert world.count("ClaimsRefused") > 1
    told = [event for report in world.reports for event in report.events if event.action == "claims_refused"]
    assert {(event.alarming, event.facts["error"]) for event in told} == {(True, "ValidationError: no")}
