"""More due than goes at once, and cursors that cannot be claimed among many that can."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from duecourse.domain.jobs.cursor import SkippedRange
from duecourse.domain.runs.states import RunState
from duecourse.ports import Claim, Claimed, ClaimResult, StoreBusyError
from duecourse.stores.cursors import CursorStore
from duecourse.stores.runs import RunStore
from duecourse.testing.faults import around, before
from duecourse.usecases.dispatch.claim import MAX_GROUP, MIN_GROUP, GroupSize, Skipping
from tests.support.faulty import CountedStore
from tests.support.jobs import NOON, cursor, job
from tests.support.runs import run
from tests.support.world import World


@dataclass
class Claims:
    """A cursor store that lets `judge` say what becomes of a claim; None leaves it to the real one."""

    store: CursorStore
    judge: Callable[[Claim], Claimed | None] = lambda _: None
    groups: list[list[str]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def claim(self, claims: Sequence[Claim], shards: int) -> list[Claimed]:
        self.groups.append([claim.cursor.job_id for claim in claims])
        given = [self.judge(claim) for claim in claims]
        left = [claim for claim, said in zip(claims, given, strict=True) if said is None]
        real = iter(self.store.claim(left, shards) if left else [])
        return [next(real) if said is None else said for said in given]


def refusing(*job_ids: str) -> Callable[[Claim], Claimed | None]:
    too_large = Claimed(ClaimResult.REFUSED, "ValidationError: Item size has exceeded the maximum allowed size")
    return lambda claim: too_large if claim.cursor.job_id in job_ids else None


def add(world: World, count: int, expression: str = "rate(300 seconds)") -> None:
    for number in range(count):
        of = job(expression, id=f"job-{number:03}")
        world.jobs.create(of, cursor(of))


def error_of(world: World, job_id: str) -> str | None:
    return world.jobs.get_cursor("default", job_id).error


def test_dispatch_quarantines_a_cursor_with_a_rejected_claim_without_delaying_others(world: World) -> None:
    add(world, 250)
    world.cursors = Claims(world.cursors, refusing("job-007"))
    world.until(NOON + 301)
    assert len(set(world.caller.runs)) == 250  # its message went out before the claim, as every one does
    assert world.count("CursorsQuarantined") == 1
    assert error_of(world, "job-007") == (
        "its claim was rejected: ValidationError: Item size has exceeded the maximum allowed size"
    )
    assert error_of(world, "job-008") is None


def test_dispatch_quarantines_nothing_when_the_table_rejects_every_claim(world: World) -> None:
    add(world, 3)
    world.cursors = Claims(world.cursors, refusing("job-000", "job-001", "job-002"))
    report = world.dispatch()
    assert report.counts["CursorsQuarantined"] == 0
    assert [event.action for event in report.events if event.alarming] == ["claims_refused"]
    world.cursors = world.cursors.store
    world.until(NOON + 301)
    assert sorted(world.caller.runs) == [f"job-{number:03}.20261121T120500Z" for number in range(3)]


def test_dispatch_unreadable_cursors_do_not_delay_the_readable_ones(world: World) -> None:
    add(world, 150)
    for number in (0, 40, 149):
        world.tables.client.update_item(
            TableName=world.tables.jobs,
            Key={"PK": {"S": f"JOB#default#job-{number:03}"}, "SK": {"S": "CURSOR"}},
            UpdateExpression="SET #rules = :nonsense",
            ExpressionAttributeNames={"#rules": "rules"},
            ExpressionAttributeValues={":nonsense": {"S": "{"}},
        )
    report = world.dispatch()
    assert (report.counts["ClaimsWon"], report.counts["CursorsQuarantined"]) == (147, 3)


def test_dispatch_next_round_continues_with_the_remaining_cursors_in_order_of_due_time(world: World) -> None:
    for number in range(260):
        of = job("rate(1 day)", id=f"job-{number:03}", at=NOON - 86_400 + (number * 37) % 260)
        world.jobs.create(of, cursor(of))
    slow = Claims(world.cursors)

    def a_claim_takes_its_time(_: Claim) -> None:
        world.clock.sleep_until(world.clock.now() + 0.5)

    slow.judge = a_claim_takes_its_time
    rounds = [world.dispatch(slow) for _ in range(3)]  # each has 45 s, and a group of 100 takes 50
    reasons = [event.facts["reason"] for made in rounds for event in made.events if event.action == "round_stopped"]
    assert reasons == ["out of time; the next tick continues"] * 2
    assert [made.counts["ClaimsWon"] for made in rounds] == [100, 100, 60]
    order = [job_id for group in slow.groups for job_id in group]
    by_due = [f"job-{number:03}" for number in sorted(range(260), key=lambda number: (number * 37) % 260)]
    assert order == by_due


def test_dispatch_retries_claims_deferred_by_a_busy_table_without_sending_new_messages(world: World) -> None:
    add(world, 250)
    busy_until = world.clock.now() + 20

    def busy(_: Claim) -> Claimed | None:
        if world.clock.now() >= busy_until:
            return None
        return Claimed(ClaimResult.BUSY, "ThrottlingException: slower", 1)

    claims = Claims(world.cursors, busy)
    world.cursors = claims
    report = world.dispatch()
    assert (report.counts["ClaimsWon"], report.counts["ClaimsFailed"]) == (250, 0)
    assert report.counts["Enqueued"] == 250 * 2  # each message once, though the first claims were made for 20 seconds
    assert report.counts["StatementsThrottled"] > 100
    assert {tuple(group) for group in claims.groups[:5]} == {tuple(claims.groups[0])}


def test_dispatch_leaves_a_permanently_busy_table_to_the_next_tick_before_time_runs_out(world: World) -> None:
    add(world, 150)
    began = world.clock.now()
    world.cursors = Claims(world.cursors, lambda _: Claimed(ClaimResult.BUSY, "ThrottlingException: slower", 1))
    report = world.dispatch()
    assert world.clock.now() - began <= 45
    assert (report.counts["ClaimsFailed"], report.counts["Enqueued"]) == (100, 200)


def test_dispatch_reads_a_busy_index_again_after_a_delay(world: World) -> None:
    add(world, 5)
    free_at = world.clock.now() + 10

    def busy() -> None:
        if world.clock.now() < free_at:
            raise StoreBusyError("the due index is throttled")

    report = world.dispatch(around(world.cursors, due=before(busy)))
    assert (report.counts["ClaimsWon"], report.counts["RoundsFailed"]) == (5, 0)


def test_dispatch_failed_round_reports_its_work_until_the_failure(world: World) -> None:
    add(world, 5)
    reads = iter([None, None, None, ConnectionError("no route to the table")])

    def trouble() -> None:
        if (problem := next(reads, None)) is not None:
            raise problem

    world.clock.advance(3550)  # what is due stands in the hour before the last that is read
    report = world.dispatch(around(world.cursors, due=before(trouble)))
    assert (report.counts["ClaimsWon"], report.counts["RoundsFailed"]) == (5, 1)
    (failed,) = [event for event in report.events if event.action == "round_failed"]
    assert failed.facts["error"] == "ConnectionError: no route to the table"
    assert "in trouble" in str(failed.facts["exception"])  # where it came from
    assert report.events[-1].action == "dispatched"
    assert report.events[-1].facts["complete"] is False


def test_dispatch_stops_sending_after_failed_claims(world: World) -> None:
    add(world, 250)
    world.cursors = Claims(world.cursors, lambda _: Claimed(ClaimResult.FAILED, "AccessDenied: no", 0))
    report = world.dispatch()
    assert report.counts["Enqueued"] == MIN_GROUP * 2  # a group's: twelve o'clock five, and ten
    (stopped,) = [event for event in report.events if event.action == "round_stopped"]
    assert stopped.facts["reason"] == "a claim failed for a reason other than its condition: AccessDenied: no"


def test_dispatch_group_size_grows_while_claims_succeed_and_shrinks_while_the_table_is_busy() -> None:
    size = GroupSize()
    grown = []
    for _ in range(5):
        size.record_outcome(well=True)
        grown.append(size.cursors)
    assert grown == [200, 400, 800, MAX_GROUP, MAX_GROUP]
    shrunk = []
    for _ in range(5):
        size.record_outcome(well=False)
        shrunk.append(size.cursors)
    assert shrunk == [500, 250, 125, MIN_GROUP, MIN_GROUP]


def test_dispatch_records_a_skipped_range_from_the_first_unrecorded_occurrence_in_few_requests(world: World) -> None:
    of = job("rate(1 second)")
    standing = cursor(of)
    for second in range(1, 121):  # the first two minutes, which the API sent at once
        assert world.run_store.write(run(of, RunState.SUCCEEDED, after=second), None) is None
    reads: list[str] = []
    runs = cast(RunStore, CountedStore(world.run_store, reads))
    first, last = int(NOON) + 1, int(NOON) + 600
    skipping = Skipping(runs, world.clock, 90, world.run_counts)
    (record,) = skipping.records(standing, [SkippedRange(first, last, 600, "missed")])
    assert (record.occurrence, record.through, record.count) == (int(NOON) + 121, last, 480)
    assert reads.count("between") == 1
    assert skipping.records(standing, [SkippedRange(first, first + 99, 100, "missed")]) == ()
