"""One look at everything, each thing by itself: what cannot be looked at hides nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse_cli.doctor import care, metrics, queues, rules, sources, surroundings, tables, verdicts
from duecourse_cli.doctor.check import Check, unknown
from duecourse_cli.doctor.facts import Queue
from duecourse_cli.doctor.stage import Stage


@dataclass(frozen=True, slots=True)
class Look:
    """How one thing is looked at: `gather` asks AWS, `judge` is pure."""

    name: str
    gather: Callable[[Stage], Any]
    judge: Callable[[Any], Check]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check with the facts that it judged; None where they could not be had."""

    check: Check
    facts: Any = None

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self.check), "facts": _plain(self.facts)}


def looks(stage: Stage) -> Iterator[Look]:
    """What there is to look at, in the order in which a run is made: clock, index, lanes, end, surroundings."""
    yield Look("clock", lambda stage: stage.skew, verdicts.clock)
    yield Look("tick", tables.tick, verdicts.tick)
    yield Look("rules", rules.rules, verdicts.rules)
    yield Look("event sources", sources.sources, verdicts.event_sources)
    yield Look("shards", tables.shards, verdicts.shards)
    yield Look("watermarks", tables.watermarks, verdicts.watermarks)
    yield Look("due index", tables.due, verdicts.due)
    yield Look("cursors", tables.cursors, verdicts.cursors)
    yield Look("shard queue", _rounds, lambda found: surroundings.shard_queue(*found))
    for name in queues.lanes(stage):
        yield Look(f"lane {name}", partial(queues.lane, name=name), surroundings.lane)
    yield Look("dead letters", queues.dead_letters, surroundings.dead_letters)
    if "ArchiveFailuresQueueUrl" in stage.outputs:
        yield Look("archive", queues.archive_letters, surroundings.archive_letters)
    yield Look("alarms", metrics.alarms, surroundings.alarms)
    if "AuditFunction" in stage.outputs:
        yield Look("audit", care.audit, surroundings.audit)
    if "PatrolFunction" in stage.outputs:
        yield Look("patrol", care.patrol, surroundings.patrol)
    if stage.is_local:  # the emulator has no metrics of functions, tables and queues, and no quotas
        return
    yield Look("functions", metrics.functions, surroundings.functions)
    yield Look("tables", metrics.tables, surroundings.tables)
    yield Look("quotas", queues.quotas, surroundings.quotas)


def examine(stage: Stage) -> Iterator[Finding]:
    """Look at everything, in order."""
    for look in looks(stage):
        try:
            facts = look.gather(stage)
        except ClientError as error:
            yield Finding(
                unknown(look.name, f"{error.operation_name}: {error.response['Error'].get('Message', error)}")
            )
        except BotoCoreError as error:
            yield Finding(unknown(look.name, str(error)))
        except KeyError as missing:
            # An output or an attribute that this version of the command knows and that stage does not have.
            yield Finding(unknown(look.name, f"{missing.args[0]} is missing"))
        else:
            yield Finding(look.judge(facts), facts)


def _rounds(stage: Stage) -> tuple[Queue, int | None]:
    """The shard queue, and how many shards are ticked."""
    return queues.shard_queue(stage), tables.highest(stage)


def _plain(facts: Any) -> Any:
    """As JSON has it."""
    if isinstance(facts, list | tuple):
        return [_plain(each) for each in facts]
    return asdict(facts) if is_dataclass(facts) and not isinstance(facts, type) else facts
