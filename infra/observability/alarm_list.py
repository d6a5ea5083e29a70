"""All alarms of a stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aws_cdk import aws_sqs as sqs

from infra.config import StageConfig
from infra.dead_letters import DeadLetters
from infra.jobs_table import JobsTable
from infra.lanes import Lanes
from infra.observability.alarms import AlarmSpec
from infra.observability.alarms_of_api import alarms_of_api
from infra.observability.alarms_of_archive import alarms_of_archive
from infra.observability.alarms_of_care import alarms_of_care
from infra.observability.alarms_of_dispatch import alarms_of_dispatch
from infra.observability.alarms_of_runs import alarms_of_runs
from infra.observability.alarms_of_services import alarms_of_services
from infra.observability.metrics import of_queue
from infra.python_function import PythonFunction
from infra.runs_table import RunsTable
from infra.shard_queue import ShardQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is watched. `functions` by the names that their alarms begin with; `archive_source`: the id of the event
    source by which the archive reads the stream; `letters`: dead-letter queues beside that of the lanes, by who could
    not do its work (see LETTERS).
    """

    jobs: JobsTable
    runs: RunsTable
    lanes: Lanes
    dead_letters: DeadLetters
    shard_queue: ShardQueue
    functions: Mapping[str, PythonFunction]
    archive_source: str
    letters: Mapping[str, sqs.IQueue] = field(default_factory=dict)


LETTERS = {
    "Archive": (
        "What the function Archive could not do after all its tries waits in a queue of its own.",
        "read why in the log of the function Archive, mend it, then let it have the queue's records again.",
    ),
    "Events": (
        "Events of the bus wait in a queue of their own and have reached nobody: the key could not be used for them.",
        "see whether the key is enabled and its policy lets EventBridge use it; then send the events again.",
    ),
}
"""What it means that letters wait, and what to do first, by who could not do its work."""


def alarm_list(config: StageConfig, watched: Watched) -> Iterator[AlarmSpec]:
    """Each once, in the order of the flow."""
    yield from alarms_of_dispatch(config, watched.shard_queue.queue)
    yield from alarms_of_runs(config, watched.lanes, watched.dead_letters.queue)
    yield from alarms_of_care(config, watched.functions)
    yield from alarms_of_archive(config, watched.functions["Archive"], watched.archive_source, watched.runs)
    yield from alarms_of_api(config)
    yield from alarms_of_services(config, watched.functions, watched.jobs, watched.runs)
    # The emulator's alarms ignore dimensions: there this one would ring for every message of the lanes' dead letters.
    for name, queue in () if config.runs_on_this_machine else watched.letters.items():
        means, first = LETTERS[name]
        yield AlarmSpec(
            name=f"{name}LettersWaiting",
            means=means,
            first=first,
            metric=of_queue(queue, "ApproximateNumberOfMessagesVisible"),
            above=0,
        )
