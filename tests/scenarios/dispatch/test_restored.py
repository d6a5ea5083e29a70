"""Tables restored to what they were forty minutes ago: docs/upgrading.md says what that means, and is held to it here.

The tables are copied at MOMENT by `duecourse restore-table`, work goes on for forty minutes, and the copies are
restored by it as an operator does with tables that DynamoDB restored.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from click.testing import CliRunner

from duecourse.cli.commands.restore_table import PROGRESS_ITEMS, restore
from duecourse.cli.main import main
from duecourse.domain.jobs.job import Backoff, Completion, Job, MissedMode, MissedPolicy, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from tests.support.jobs import NOON, cursor, job
from tests.support.tables import Tables, create_tables
from tests.support.world import World

MOMENT = NOON + 600
RESTORED = MOMENT + 2400 + 30.0
"""Half a minute after an occurrence, so that one is still within its grace."""

EVERY_FIVE = "rate(5 minutes)"
ALREADY_ENQUEUED = (900, 1200)
"""Occurrences (seconds after NOON) that MOMENT's cursors have passed: the dispatcher sends up to 14 minutes ahead."""


def retrying(minutes: int) -> RetryPolicy:
    return RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=60 * minutes, max_seconds=60 * minutes)


def answer(call: Call) -> Outcome:
    fails = call.job.retry.max_attempts == 2 and call.run.attempt == 1
    return Failed("not yet") if fails else Returned("fine")


class Restored:
    """A world, and copies of its tables as they were at MOMENT."""

    def __init__(self, tables: Tables) -> None:
        self.world = World(tables)
        self.world.caller.answer = answer
        self.copies = create_tables(tables.client)
        self.calls_before: Counter[str] = Counter()

    def go_on(self, *jobs: Job, meanwhile: Callable[[World], None] = lambda _: None) -> None:
        """Jobs work until MOMENT, when the tables are copied, and on until RESTORED."""
        world = self.world
        for each in jobs:
            world.add(each)
        world.until(MOMENT)
        restore(self._client, world.tables.jobs, self.copies.jobs)
        restore(self._client, world.tables.runs, self.copies.runs)
        meanwhile(world)
        world.until(RESTORED)
        self.calls_before = Counter(world.caller.runs)

    def restore(self, *, runs_too: bool = False, until: float = RESTORED + 3600) -> None:
        """Put back the jobs (and the runs), and let an hour pass."""
        tables = self.world.tables
        restore(self._client, self.copies.jobs, tables.jobs, delete_others=True)
        if runs_too:
            restore(self._client, self.copies.runs, tables.runs, delete_others=True)
        self.world.until(until)

    @property
    def twice(self) -> list[str]:
        """Runs that were called before and are called again."""
        again = Counter(self.world.caller.runs) - self.calls_before
        return sorted(name for name in again if name in self.calls_before)

    def spans(self, job_id: str) -> list[tuple[int, RunState, int]]:
        """Seconds after NOON, state and number of occurrences of each record since MOMENT, until RESTORED."""
        runs = self.world.runs(job_id)
        since = [run for run in runs if MOMENT < run.occurrence < RESTORED]
        return [(run.occurrence - int(NOON), run.state, run.count) for run in since]

    @property
    def _client(self) -> Any:
        return self.world.tables.client


@pytest.fixture
def restored(tables: Tables) -> Restored:
    return Restored(tables)


def every_five(name: str, **changes: Any) -> Job:
    return job(EVERY_FIVE, id=name, overlap=Overlap.ALLOW, **changes)


def each_policy() -> list[Job]:
    return [
        every_five("once"),
        every_five("all", missed=MissedPolicy(MissedMode.RUN_ALL, 60, 3)),
        every_five("skip", missed=MissedPolicy(MissedMode.SKIP, 60, 10)),
    ]


ALL_RAN = [(second, RunState.SUCCEEDED, 1) for second in range(900, 3001, 300)]


def test_restore_without_the_runs_repeats_no_run_and_omits_none(restored: Restored) -> None:
    one_off = job("at(2026-11-21T12:30:00)", id="one-off")
    restored.go_on(*each_policy(), one_off)
    restored.restore()
    assert restored.twice == []
    for name in ("once", "all", "skip"):
        assert restored.spans(name) == ALL_RAN
        later = [run for run in restored.world.runs(name) if run.occurrence > RESTORED]
        assert [run.occurrence - int(NOON) for run in later][:3] == [3300, 3600, 3900]
    job_again = restored.world.jobs.get("default", "one-off")
    assert job_again.state == "COMPLETED"


def test_restore_including_the_runs_repeats_runs_according_to_the_missed_policies(restored: Restored) -> None:
    restored.go_on(*each_policy())
    restored.restore(runs_too=True)
    done, skipped = RunState.SUCCEEDED, RunState.SKIPPED
    assert restored.spans("once") == [(1200, done, 6), (3000, done, 1)]
    assert restored.spans("all") == [
        (1200, done, 1),
        (1500, done, 1),
        (1800, done, 1),
        (2100, skipped, 3),
        (3000, done, 1),
    ]
    assert restored.spans("skip") == [(1200, skipped, 6), (3000, done, 1)]
    assert restored.twice == [
        *("all.20261121T122000Z", "all.20261121T122500Z", "all.20261121T123000Z", "all.20261121T125000Z"),
        *("once.20261121T122000Z", "once.20261121T125000Z"),
        "skip.20261121T125000Z",
    ]


def test_restore_including_the_runs_repeats_a_one_off_job(restored: Restored) -> None:
    restored.go_on(job("at(2026-11-21T12:30:00)", id="one-off"))
    restored.restore(runs_too=True)
    assert restored.twice == ["one-off.20261121T123000Z"]


def test_restore_including_the_runs_leaves_already_enqueued_runs_unrecorded_and_does_not_repeat_them(
    restored: Restored,
) -> None:
    """Its cursor had been moved past it and its message is gone: the history has a hole there."""
    restored.go_on(every_five("once"))
    restored.restore(runs_too=True)
    assert next(second for second, _, _ in restored.spans("once")) > ALREADY_ENQUEUED[0]
    assert restored.calls_before["once.20261121T121500Z"] == 1


def test_restore_removes_later_jobs_and_their_messages_do_nothing(restored: Restored) -> None:
    made = every_five("made-later", at=MOMENT)
    restored.go_on(meanwhile=lambda world: world.add(made))
    restored.restore()
    assert restored.world.jobs.get("default", "made-later") is None
    assert not [run for run in restored.world.runs("made-later") if run.occurrence > RESTORED]
    assert restored.twice == []


def delete(world: World) -> None:
    found = world.jobs.get("default", "deleted-later")
    assert found is not None
    assert world.jobs.delete(found, deleted_at=world.clock.now())


def test_restore_brings_back_a_deleted_job_that_then_catches_up(restored: Restored) -> None:
    restored.go_on(every_five("deleted-later"), meanwhile=delete)
    restored.restore()
    assert (1200, RunState.SUCCEEDED, 6) in restored.spans("deleted-later")
    assert [run for run in restored.world.runs("deleted-later") if run.occurrence > RESTORED]


def edit(world: World) -> None:
    found, standing = world.jobs.get_both("default", "edited-later")
    assert found is not None
    assert standing is not None
    now = world.clock.now()
    schedule = replace(found.schedule, expression="rate(7 minutes)")
    edited = replace(
        found, schedule=schedule, generation=found.generation + 1, revision=found.revision + 1, changed_at=now
    )
    assert world.jobs.change(found, standing, edited, cursor(edited, now))


def test_restore_undoes_a_later_edit(restored: Restored) -> None:
    restored.go_on(every_five("edited-later"), meanwhile=edit)
    restored.restore()
    later = [run.occurrence - int(NOON) for run in restored.world.runs("edited-later") if run.occurrence > RESTORED]
    assert later[:3] == [3300, 3600, 3900]


def test_restore_runs_a_waiting_retry_once(restored: Restored) -> None:
    """Its timer was sent and cleared since; it is back, is sent again, and its worker finds the run over."""
    restored.go_on(job("at(2026-11-21T12:05:00)", id="retries", retry=retrying(20)))
    restored.restore()
    assert restored.twice == []
    assert restored.world.caller.runs == ["retries.20261121T120500Z"] * 2


def test_restore_continues_a_later_wait_by_its_restored_cursor(restored: Restored) -> None:
    """Its timer is gone with what was written since; the first attempt's message, sent again, repeats it."""
    restored.go_on(
        job("at(2026-11-21T12:30:00)", id="retries", retry=retrying(40)),
        job("at(2026-11-21T12:31:00)", id="waits", completion=Completion.CALLBACK, completion_seconds=2400),
    )
    restored.restore()
    (run,) = restored.world.runs("retries")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    (waiting,) = restored.world.runs("waits")
    assert waiting.attempt == 2  # its deadline came, and it was tried anew


def test_restore_loses_a_later_wait_of_an_earlier_enqueued_run_that_can_be_cancelled(restored: Restored) -> None:
    """The one thing that nothing takes up again: no cursor, no timer and no message knows of it."""
    restored.go_on(job("at(2026-11-21T12:15:00)", id="retries", retry=retrying(60)))
    restored.restore(until=RESTORED + 7200)
    (run,) = restored.world.runs("retries")
    assert (run.state, run.attempt) == (RunState.RETRYING, 1)
    restored.world.tell(restored.world.about(run, MessageKind.CANCEL, reason="lost its timer"))
    (run,) = restored.world.runs("retries")
    assert run.state is RunState.CANCELLED


def test_restore_can_be_limited_to_the_items_of_one_tenant(tables: Tables) -> None:
    world, copies = World(tables), create_tables(tables.client)
    theirs = replace(every_five("nightly"), tenant="acme")
    ours = every_five("nightly")
    for made in (theirs, ours):
        assert world.jobs.create(made, cursor(made))
    restore(tables.client, tables.jobs, copies.jobs)
    for made in (theirs, ours):
        assert world.jobs.delete(made, deleted_at=NOON + 60)
    restore(tables.client, copies.jobs, tables.jobs, tenant="acme", delete_others=True)
    assert world.jobs.get("acme", "nightly") == theirs
    assert world.jobs.get("default", "nightly") is None


@dataclass
class Throttled:
    """A client whose table takes one item of each batch."""

    client: Any
    batches: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def batch_write_item(self, RequestItems: dict[str, list[Any]]) -> dict[str, Any]:  # noqa: N803
        ((table, requests),) = RequestItems.items()
        self.batches.append(len(requests))
        self.client.batch_write_item(RequestItems={table: requests[:1]})
        return {"UnprocessedItems": {table: requests[1:]} if requests[1:] else {}}


def test_restore_retries_items_rejected_by_a_throttled_table_with_growing_delays(tables: Tables) -> None:
    world, copies = World(tables), create_tables(tables.client)
    world.add(job("0 3 * * *", id="nightly"))
    written = len(tables.client.scan(TableName=tables.jobs)["Items"])
    client, waits = Throttled(tables.client), list[float]()
    restore(client, tables.jobs, copies.jobs, sleep=waits.append)
    assert len(tables.client.scan(TableName=copies.jobs)["Items"]) == written
    assert client.batches == list(range(written, 0, -1))
    assert waits == [0.1 * 2**n for n in range(written - 1)]


def test_restore_reports_the_progress_of_a_long_copy(tables: Tables) -> None:
    told: list[str] = []
    restore(Endless(PROGRESS_ITEMS * 2), tables.jobs, "copy", progress=told.append)
    assert told == ["10,000 items restored", "20,000 items restored"]


class Endless:
    """A DynamoDB client with a table of so many items, which takes everything."""

    def __init__(self, items: int) -> None:
        self.items = items

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> Any:
        return iter([{"Items": [{"PK": {"S": f"JOB#a#{n}"}, "SK": {"S": "JOB"}} for n in range(self.items)]}])

    def batch_write_item(self, **_: Any) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("restored", "table", "said"), [("one", "one", "one is given twice"), ("no-such-table", "own", "not found")]
)
def test_restore_rejects_a_wrong_table_with_an_explanation(
    ministack: str, monkeypatch: pytest.MonkeyPatch, restored: str, table: str, said: str
) -> None:
    for name, value in {"AWS_ENDPOINT_URL": ministack, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    done = CliRunner().invoke(main, ["restore-table", restored, table])
    assert done.exit_code == 1
    assert said in done.stderr
