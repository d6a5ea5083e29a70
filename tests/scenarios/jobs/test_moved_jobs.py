"""`moved_from` in files of `apply`: a job moves to another id, also if the command is interrupted after any request."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from duecourse.cli.manifests.documents import FaultsError, Manifest
from duecourse.cli.manifests.moving import MOVING_TAG
from duecourse.cli.manifests.plan import Action, Step, carry_out, plan
from duecourse.client import Client, NotFoundError
from duecourse.client.models import Job
from duecourse.testing import Scheduler

BEGIN = datetime(2026, 3, 28, 11, 50, tzinfo=UTC)
REQUESTS = 12
"""More than a move takes."""
TARGET = {"type": "http", "url": "https://example.com/hook"}
ALL = {"policy": "run_all", "max_missed": 100}
EVERY_MINUTE = {"schedule": "* * * * *", "missed": ALL, "overlap": "allow"}


class Killed(BaseException):
    """The command died after a request."""


class Slow(httpx.BaseTransport):
    """Sends requests, each of which takes `seconds`. After `most` changes, the command dies."""

    def __init__(self, scheduler: Scheduler, seconds: float, most: int) -> None:
        self.scheduler, self.seconds, self.left = scheduler, seconds, most

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.scheduler.transport.handle_request(request)
        self.scheduler.advance(seconds=self.seconds)
        if request.method != "GET" and "dry_run" not in request.url.query.decode():
            self.left -= 1
            if self.left < 0:
                raise Killed
        return answer


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    with Scheduler(now=BEGIN) as scheduler:
        yield scheduler


def manifest(**fields: Any) -> Manifest:
    """The document of the job under its new id."""
    return Manifest("new", {"id": "new", "target": TARGET, **fields}, moved_from=("older", "old"), file="jobs.yaml")


def create(scheduler: Scheduler, **fields: Any) -> Job:
    return scheduler.client.create_job({"id": "old", "target": TARGET, **fields})  # type: ignore[typeddict-item]


def apply(scheduler: Scheduler, document: Manifest, *, seconds: float = 0, most: int = 999) -> list[Step]:
    with Client(scheduler.url, transport=Slow(scheduler, seconds, most)) as client:
        steps = plan(client, [document])
        for step in steps:
            if step.action is not Action.KEEP:
                carry_out(client, step)
        return steps


def settled(scheduler: Scheduler, document: Manifest, seconds: float = 0) -> None:
    """Repeat the command, as it says, until it succeeds."""
    for _ in range(9):
        try:
            apply(scheduler, document, seconds=seconds)
        except FaultsError:
            scheduler.advance(seconds=61)
        else:
            return
    raise AssertionError("the move does not succeed")


def occurrences(scheduler: Scheduler) -> list[datetime]:
    """The occurrences that ran under either id."""
    return sorted(
        datetime.strptime(call.run_id.split(".")[1][:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        for call in scheduler.calls
    )


def is_complete(scheduler: Scheduler, document: Manifest) -> Job:
    """Check that only the new job exists, and that another apply changes nothing. Return it."""
    with pytest.raises(NotFoundError):
        scheduler.client.get_job("old")
    assert [step.action for step in apply(scheduler, document)] == [Action.KEEP]
    found = scheduler.client.get_job("new")
    assert MOVING_TAG not in found.tags
    return found


def interrupted(test: Callable[..., None]) -> Callable[..., None]:
    """Run the test with a command that dies after each of its requests, at different times of a minute."""
    for mark in (
        pytest.mark.parametrize("most", range(REQUESTS)),
        pytest.mark.parametrize("second", [3, pytest.param(57, marks=pytest.mark.extended)]),
    ):
        test = mark(test)
    return test


def moved(scheduler: Scheduler, document: Manifest, most: int, second: int, later: float = 240) -> None:
    """Move the job at `second` of a minute, slowly, with a command that dies after `most` changes, and repeat it
    `later` seconds after that.
    """
    scheduler.advance(minutes=9)
    scheduler.advance(seconds=second)
    try:
        apply(scheduler, document, seconds=0.7, most=most)
    except (Killed, FaultsError):
        scheduler.advance(seconds=later)
        settled(scheduler, document, 0.7)


@interrupted
def test_moved_job_runs_each_occurrence_once(scheduler: Scheduler, most: int, second: int) -> None:
    create(scheduler, **EVERY_MINUTE)
    document = manifest(**EVERY_MINUTE)
    moved(scheduler, document, most, second)
    assert is_complete(scheduler, document).state == "ACTIVE"
    scheduler.advance_to(BEGIN + timedelta(minutes=30))
    assert occurrences(scheduler) == [BEGIN + timedelta(minutes=each) for each in range(1, 31)]


@interrupted
def test_moved_job_of_an_interval_keeps_its_anchor(scheduler: Scheduler, most: int, second: int) -> None:
    fields = EVERY_MINUTE | {"schedule": "rate(90 seconds)"}
    first = create(scheduler, **fields)
    moved(scheduler, manifest(**fields), most, second)
    assert is_complete(scheduler, manifest(**fields)).anchor == first.anchor
    scheduler.advance_to(BEGIN + timedelta(minutes=30))
    assert occurrences(scheduler) == [BEGIN + timedelta(seconds=90 * each) for each in range(1, 21)]


@interrupted
def test_moved_job_with_max_runs_has_the_rest_of_its_runs(scheduler: Scheduler, most: int, second: int) -> None:
    fields = EVERY_MINUTE | {"max_runs": 20}
    create(scheduler, **fields)
    moved(scheduler, manifest(**fields), most, second)
    found = is_complete(scheduler, manifest(**fields))
    assert found.runs_left == 20 - len(occurrences(scheduler))
    scheduler.advance_to(BEGIN + timedelta(minutes=40))
    assert occurrences(scheduler) == [BEGIN + timedelta(minutes=each) for each in range(1, 21)]


class EmptyFirst(httpx.BaseTransport):
    """Sends requests. The first page of a list of queued runs is empty and has a next page: a filtered page examines a
    bounded number of runs.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        query = request.url.params
        if query.get("state") == "QUEUED" and "cursor" not in query:
            return httpx.Response(200, json={"items": [], "next_cursor": "next"})
        request.url = request.url.copy_remove_param("cursor")
        return self.scheduler.transport.handle_request(request)


def test_moved_job_finds_a_delayed_occurrence_behind_an_empty_page(scheduler: Scheduler) -> None:
    fields = EVERY_MINUTE | {"schedule": "0 * * * *", "spread": {"within_minutes": 30, "offset_minutes": 20}}
    create(scheduler, **fields)
    scheduler.advance(minutes=20)
    document = manifest(**fields | {"spread": {"within_minutes": 30, "offset_minutes": 25}})
    with Client(scheduler.url, transport=EmptyFirst(scheduler)) as client:
        (step,) = plan(client, [document])
        with pytest.raises(FaultsError, match="an occurrence of old is delayed until 2026-03-28T12:20:00Z"):
            carry_out(client, step)


@pytest.mark.extended
@pytest.mark.parametrize("most", range(REQUESTS))
@pytest.mark.parametrize("second", range(0, 60, 7))
@pytest.mark.parametrize("delayed", [{"jitter_seconds": 25}, {"spread": {"within_minutes": 2}}])
def test_moved_job_with_delayed_occurrences_runs_each_once(
    scheduler: Scheduler, most: int, second: int, delayed: dict[str, Any]
) -> None:
    fields = EVERY_MINUTE | {"schedule": "*/2 * * * *"} | delayed
    create(scheduler, **fields)
    moved(scheduler, manifest(**fields), most, second)
    is_complete(scheduler, manifest(**fields))
    scheduler.advance_to(BEGIN + timedelta(minutes=31))
    found = occurrences(scheduler)
    assert found == [found[0] + timedelta(minutes=each) for each in range(0, len(found) * 2, 2)]
    assert found[-1] >= BEGIN + timedelta(minutes=28)


@pytest.mark.parametrize("most", range(REQUESTS))
@pytest.mark.parametrize("until", [pytest.param(None, marks=pytest.mark.extended), BEGIN + timedelta(minutes=20)])
def test_moved_paused_job_stays_paused(scheduler: Scheduler, most: int, until: datetime | None) -> None:
    create(scheduler, **EVERY_MINUTE)
    scheduler.advance(minutes=5)
    scheduler.client.pause_job("old", note="for a reason", until=until)
    moved(scheduler, manifest(**EVERY_MINUTE), most, 3, later=60)
    found = is_complete(scheduler, manifest(**EVERY_MINUTE))
    assert (found.state, found.paused_because, found.paused_until) == ("PAUSED", "for a reason", until)
    scheduler.advance_to(BEGIN + timedelta(minutes=30))
    expected = [*range(1, 6), *(() if until is None else range(20, 31))]
    assert occurrences(scheduler) == [BEGIN + timedelta(minutes=each) for each in expected]


@pytest.mark.parametrize("most", range(REQUESTS))
@pytest.mark.parametrize("catch_up", [pytest.param(False, marks=pytest.mark.extended), True])
def test_moved_job_keeps_a_planned_pause(scheduler: Scheduler, most: int, catch_up: bool) -> None:
    create(scheduler, **EVERY_MINUTE)
    window = BEGIN + timedelta(minutes=20, seconds=30), BEGIN + timedelta(minutes=24, seconds=30)
    scheduler.client.pause_job("old", from_=window[0], until=window[1], catch_up=catch_up)
    plan_of_old = scheduler.client.get_job("old").planned_pause
    moved(scheduler, manifest(**EVERY_MINUTE), most, 3)
    assert is_complete(scheduler, manifest(**EVERY_MINUTE)).planned_pause == plan_of_old
    scheduler.advance_to(BEGIN + timedelta(minutes=30))
    inside = [window[1]] if catch_up else []
    expected = [BEGIN + timedelta(minutes=each) for each in (*range(1, 21), *range(25, 31))]
    assert occurrences(scheduler) == sorted(expected + inside)


@pytest.mark.parametrize("most", range(REQUESTS))
def test_moved_job_without_a_schedule_runs_on_demand_under_its_new_id(scheduler: Scheduler, most: int) -> None:
    create(scheduler, schedule=None, tags=["shop"])
    document = manifest(schedule=None, tags=["shop"])
    moved(scheduler, document, most, 3)
    assert is_complete(scheduler, document).tags == ("shop",)
    scheduler.client.run_job("new")
    scheduler.advance(seconds=1)
    assert Counter(call.run_id.split(".")[0] for call in scheduler.calls) == {"new": 1}


@pytest.mark.parametrize("most", range(REQUESTS))
def test_moved_job_with_another_schedule_follows_it_from_then_on(scheduler: Scheduler, most: int) -> None:
    create(scheduler, **EVERY_MINUTE)
    document = manifest(**EVERY_MINUTE | {"schedule": "30 * * * * *"})
    moved(scheduler, document, most, 3)
    is_complete(scheduler, document)
    scheduler.advance_to(BEGIN + timedelta(minutes=30))
    found = occurrences(scheduler)
    assert len(set(found)) == len(found)
    change = next(index for index, each in enumerate(found) if each.second == 30)
    assert {each.second for each in found[change:]} == {30}
    assert {after - before for before, after in zip(found[change:], found[change + 1 :], strict=False)} == {
        timedelta(minutes=1)
    }


def test_moved_job_leaves_its_history_under_the_old_id(scheduler: Scheduler) -> None:
    create(scheduler, **EVERY_MINUTE)
    scheduler.advance(minutes=3, seconds=5)
    apply(scheduler, manifest(**EVERY_MINUTE), seconds=0.1)
    scheduler.advance(minutes=2)
    assert [run.state for run in scheduler.client.list_runs("old").items] == ["SUCCEEDED"] * 3
    assert [run.state for run in scheduler.client.list_runs("new", state="SUCCEEDED").items] == ["SUCCEEDED"] * 2
    assert scheduler.client.get_job_history("old").items[0].action == "deleted"


def test_moved_job_that_is_due_at_the_same_time_is_not_moved_and_runs(scheduler: Scheduler) -> None:
    create(scheduler, **EVERY_MINUTE)
    scheduler.advance(minutes=9, seconds=51)
    with pytest.raises(FaultsError, match="came due during the move; run the command again in a minute"):
        apply(scheduler, manifest(**EVERY_MINUTE), seconds=0.8)
    assert scheduler.client.get_job("old").state == "ACTIVE"
    scheduler.advance(minutes=2)
    settled(scheduler, manifest(**EVERY_MINUTE))
    scheduler.advance_to(BEGIN + timedelta(minutes=20))
    assert occurrences(scheduler) == [BEGIN + timedelta(minutes=each) for each in range(1, 21)]


def test_moved_job_that_another_caller_changes_is_not_deleted(scheduler: Scheduler) -> None:
    create(scheduler, **EVERY_MINUTE)
    steps = plan(scheduler.client, [manifest(**EVERY_MINUTE)])
    scheduler.client.patch_job("old", {"name": "Changed"})
    with pytest.raises(Exception, match="412"):
        carry_out(scheduler.client, steps[0])
    assert scheduler.client.get_job("old").state == "ACTIVE"
    settled(scheduler, manifest(**EVERY_MINUTE))
    is_complete(scheduler, manifest(**EVERY_MINUTE))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda client: client.put_workflow("w", {"schedule": None, "jobs": {"old": {}}}), "is a step of workflow w"),
        (lambda client: client.put_workflow("older", {"schedule": None, "jobs": {"old": {}}}), "older is a workflow"),
    ],
)
def test_moved_job_cannot_be_a_step_or_a_workflow(
    scheduler: Scheduler, change: Callable[[Client], object], said: str
) -> None:
    create(scheduler, schedule=None)
    change(scheduler.client)
    with pytest.raises(FaultsError, match=said):
        plan(scheduler.client, [manifest(schedule=None)])


def test_moved_job_that_is_completed_is_refused(scheduler: Scheduler) -> None:
    create(scheduler, **EVERY_MINUTE, max_runs=2)
    scheduler.advance(minutes=5)
    with pytest.raises(FaultsError, match="old is COMPLETED, so it has no occurrences to move"):
        plan(scheduler.client, [manifest(**EVERY_MINUTE)])
