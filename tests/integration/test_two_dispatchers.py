"""Two dispatchers over one shard, two workers over one lane: real tables, real queues, real time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from duecourse.adapters.sqs.lanes import SqsLanes
from duecourse.adapters.sqs.received import SqsReceived
from duecourse.adapters.system import SystemClock, SystemRandomness
from duecourse.domain.ids import RunName
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.cursor import bucket_of
from duecourse.domain.jobs.job import Lane
from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from duecourse.testing.outbox import Announced, RecordedEvents, StoredResults
from duecourse.usecases.dispatch.claim import Claiming, Skipping
from duecourse.usecases.dispatch.round import Dispatch
from duecourse.usecases.run_counts import RunCounts
from duecourse.usecases.worker.attempt import LaneWorker
from duecourse.usecases.worker.work_item import ReceivedMessage, WorkerRules
from duecourse.wiring import Wiring
from tests.support import emulators
from tests.support.jobs import cursor, job
from tests.support.queues import create_queue
from tests.support.tables import Tables
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.world import RULES, RecordedCalls

T = TypeVar("T")


@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.extended)])
def test_two_dispatchers_over_one_shard_of_many_due_jobs_execute_each_exactly_once(
    tables: Tables, ministack: str, many: int
) -> None:
    clock = SystemClock()
    sqs = emulators.client("sqs", ministack)
    url = create_queue(sqs)
    lanes = SqsLanes(sqs, dict.fromkeys(Lane, url), clock, SystemRandomness())
    store, runs, cursors = tables.job_store(clock), tables.run_store(), tables.cursor_store(clock)
    now = int(clock.now())
    due = to_iso(now - 5).removesuffix("Z")
    jobs = [job(f"at({due})", id=f"job-{number:04}", at=float(now - 60), seated=False) for number in range(many)]
    together(16, lambda share: [store.create(of, cursor(of)) for of in jobs[share::16]])

    def dispatch(_: int) -> Any:
        claiming = Claiming(store, Skipping(runs, clock, 90, RunCounts(tables.run_counts(), clock)), clock)
        round_ = Dispatch(cursors, lanes, clock, SystemRandomness(), claiming, RULES)
        return round_(0, clock.now() + PATIENCE_SECONDS)

    reports = together(2, dispatch)
    won = [report.counts["ClaimsWon"] for report in reports]
    lost = [report.counts["ClaimsLost"] for report in reports]
    assert sum(won) >= many  # the very same claim made twice counts as won by both: nothing differs
    read = sum(report.counts["CursorsRead"] for report in reports)
    assert read <= sum(won) + sum(lost) <= 2 * read  # late ones are claimed once more: is their job over?
    assert not list(cursors.due(f"{bucket_of(now - 5)}/0000", now + 300))

    caller = RecordedCalls(SettableClock(float(now)))
    wiring = Wiring[Any](SimpleNamespace(result_buckets={}, run_retention_days=90, short_timeouts=False, fence=None))
    wiring.jobs, wiring.runs, wiring.workflows = store, runs, tables.workflows(clock)
    wiring.timers, wiring.wait_queues, wiring.inputs = tables.timers(), tables.wait_queues(), tables.inputs()
    wiring.run_count_store = tables.run_counts()
    wiring.lanes, wiring.notices, wiring.bus, wiring.results = lanes, Announced(), RecordedEvents(), StoredResults()
    execute = wiring.worker(WorkerRules(Lane.NORMAL, 5, 90), SqsReceived(sqs, url), caller)
    received = sum(together(3, lambda number: work(sqs, url, execute, number, clock.now() + PATIENCE_SECONDS)))
    assert received == sum(report.counts["Enqueued"] for report in reports)
    assert sorted(caller.runs) == sorted(str(RunName(of.id, now - 5)) for of in jobs)
    states = {run.state for of in jobs for run in runs.page("default", of.id, limit=2, before=None)}
    assert states == {RunState.SUCCEEDED}


def together(number: int, act: Callable[[int], T]) -> list[T]:
    """Do it `number` times at once."""
    with ThreadPoolExecutor(number) as threads:
        return list(threads.map(act, range(number)))


def work(sqs: Any, url: str, execute: LaneWorker, number: int, deadline: float) -> int:
    """Be a worker until the queue is empty; how many messages it was given."""
    seen = 0
    while True:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["ApproximateReceiveCount"]
        )
        messages = answer.get("Messages", [])
        if not messages:
            return seen
        seen += len(messages)
        received = [
            ReceivedMessage(
                message["MessageId"],
                message["ReceiptHandle"],
                int(message["Attributes"]["ApproximateReceiveCount"]),
                f"worker-{number}-{seen}",
                message["Body"],
            )
            for message in messages
        ]
        left = set(execute(received, deadline).retained)
        done = [message for message in messages if message["MessageId"] not in left]
        entries = [{"Id": str(i), "ReceiptHandle": each["ReceiptHandle"]} for i, each in enumerate(done)]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
