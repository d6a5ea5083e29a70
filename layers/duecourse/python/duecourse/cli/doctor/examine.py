"""Runs all examinations independently: one that fails does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.checks import verdicts as shared
from duecourse.checks.check import Check, unknown
from duecourse.checks.facts import Queue
from duecourse.cli.doctor import metrics, prescale, queues, secret_reads, surroundings, tables, topics, verdicts
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.doctor.tables import audit, repair
from duecourse.cli.output.documents import ExaminedPart


@dataclass(frozen=True, slots=True)
class Examination:
    """One examination: `gather` reads the facts from AWS, `judge` is a pure function."""

    name: str
    gather: Callable[[Stage], Any]
    judge: Callable[[Any], Check]


@dataclass(frozen=True, slots=True)
class Examined:
    """A check and the data that it evaluated; None if the data could not be read."""

    check: Check
    facts: Any = None

    def document(self) -> ExaminedPart:
        """The check and its data as a JSON document."""
        check = self.check
        return {
            "name": check.name,
            "verdict": check.verdict.value,
            "says": check.says,
            "do": check.do,
            "runbook": check.runbook,
            "facts": _plain(self.facts),
        }


def examinations(stage: Stage) -> Iterator[Examination]:
    """Yield the examinations in the order of a run's path: clock, index, lanes, end, surroundings."""
    yield Examination("clock", lambda stage: stage.skew, verdicts.clock)
    yield Examination("tick", tables.tick, verdicts.tick)
    yield Examination("rules", queues.rules, verdicts.rules)
    yield Examination("event sources", queues.sources, verdicts.event_sources)
    yield Examination("shards", tables.shards, shared.shards)
    yield Examination("watermarks", tables.watermarks, shared.watermarks)
    yield Examination("due index", tables.due, verdicts.due)
    yield Examination("cursors", tables.cursors, verdicts.cursors)
    yield Examination("skipped runs", tables.skipping, verdicts.skipping)
    yield Examination("shard queue", _rounds, lambda found: surroundings.shard_queue(*found))
    for name, output in queues.lanes(stage).items():
        yield Examination(f"lane {name}", partial(queues.queue, name=name, output=output), shared.lane)
    letters = partial(queues.queue, name="dead letters", output="DeadLetterQueueUrl")
    yield Examination("dead letters", letters, surroundings.dead_letters)
    if "ArchiveFailuresQueueUrl" in stage.outputs:
        letters = partial(queues.queue, name="archive", output="ArchiveFailuresQueueUrl")
        yield Examination("archive", letters, surroundings.archive_letters)
    yield Examination("alarms", metrics.alarms, shared.alarms)
    if "AuditFunction" in stage.outputs:
        yield Examination("audit", audit, surroundings.audit)
    if "RepairFunction" in stage.outputs:
        yield Examination("repair", repair, surroundings.repair)
    if prescale.OUTPUT in stage.outputs:
        yield Examination("prescale", prescale.plan, prescale.judge)
    if stage.is_local:  # the emulator has no metrics of functions, tables and queues, and no quotas
        return
    yield Examination("subscribers", topics.subscribers, topics.judge)
    yield Examination("functions", metrics.functions, surroundings.functions)
    yield Examination("tables", metrics.tables, surroundings.tables)
    yield Examination("quotas", queues.quotas, surroundings.quotas)
    yield Examination("secrets", secret_reads.secret_reads, secret_reads.judge)


def examine(stage: Stage) -> Iterator[Examined]:
    """Run all examinations in order."""
    for look in examinations(stage):
        try:
            facts = look.gather(stage)
        except ClientError as error:
            yield Examined(
                unknown(look.name, f"{error.operation_name}: {error.response['Error'].get('Message', error)}")
            )
        except BotoCoreError as error:
            yield Examined(unknown(look.name, str(error)))
        except KeyError as missing:
            # An output or an attribute that this version of the command expects may be missing from an older or newer
            # stage.
            yield Examined(unknown(look.name, f"{missing.args[0]} is missing"))
        else:
            yield Examined(look.judge(facts), facts)


def _rounds(stage: Stage) -> tuple[Queue, int | None]:
    """Return the shard queue and the number of shards that receive ticks."""
    return queues.queue(stage, "shards", "ShardQueueUrl"), tables.highest(stage)


def _plain(facts: Any) -> Any:
    """Return the facts as a JSON value."""
    if isinstance(facts, list | tuple):
        return [_plain(each) for each in facts]
    return asdict(facts) if is_dataclass(facts) and not isinstance(facts, type) else facts
