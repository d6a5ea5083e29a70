"""The effect of a fault: how an ending differs from that without one. The table's head explains the notation."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil

from tests.support.fault_table.ending import Ending, Name, Record

NO_EFFECT = "no effect"
REPEATED = "request repeated"
SHORT_SECONDS = 10
"""A shorter delay is no effect: it is that of a try after a few seconds."""

SETTLED_SECONDS = 300
"""So late may be settled what a dead process left: its message returns, or the reconciler is called."""


def effect(calm: Ending, found: Ending) -> str:
    """How an ending differs from that without a fault."""
    before, after = _comparable(calm), _comparable(found)
    differences = [
        *_repeated(after),
        *_records(before, after),
        *_attempts(before, after),
        *_later(before, after),
        *_published(before, after),
        *_repaired(before, after),
    ]
    return ", ".join(differences) or NO_EFFECT


def _comparable(found: Ending) -> Ending:
    """With suffixes by their order. A suffix is made of the moment of a request, which a repeated request changes."""
    names = sorted({record.name for record in found.records} | {call.name for call in found.calls})
    order: Counter[int] = Counter()
    renamed: dict[Name, Name] = {}
    for second, suffix in names:
        order[second] += bool(suffix)
        renamed[second, suffix] = (second, f"request {order[second]}" if suffix else "")
    return replace(
        found,
        records=tuple(replace(record, name=renamed[record.name]) for record in found.records),
        calls=tuple(replace(call, name=renamed[call.name]) for call in found.calls),
        events=Counter({(kind, renamed.get(name, name)): count for (kind, name), count in found.events.items()}),
    )


def _repeated(found: Ending) -> Iterable[str]:
    if found.asked_again:
        yield REPEATED


def _records(calm: Ending, found: Ending) -> Iterable[str]:
    before, after = (_by_name(each.records) for each in (calm, found))
    for name in sorted({*before, *after}):
        was, now = (_ended(each.get(name)) for each in (before, after))
        if was != now:
            yield f"{_clock(name)} {now} instead of {was}"


def _by_name(records: Iterable[Record]) -> Mapping[Name, Record]:
    return {record.name: record for record in records}


def _ended(record: Record | None) -> str:
    if record is None:
        return "no record"
    reason = f" ({record.reason})" if record.reason else ""
    through = f" through {_clock((record.through, ''))}" if record.through != record.name[0] else ""
    return f"{record.state}{reason}{through}"


def _attempts(calm: Ending, found: Ending) -> Iterable[str]:
    before, after = (Counter(each.name for each in one.calls) for one in (calm, found))
    more = (after - before).total()
    yield from _changed(more, (before - after).total(), "call")
    tried = {record.name: record.attempt for record in calm.records}
    lost = sum(max(record.attempt - tried.get(record.name, record.attempt), 0) for record in found.records)
    if lost > more:
        yield "+1 empty attempt"


def _changed(more: int, less: int, what: str) -> Iterable[str]:
    for sign, count in (("+", more), ("-", less)):
        if count:
            yield f"{sign}{count} {what}{'s' if count > 1 else ''}"


def _later(calm: Ending, found: Ending) -> Iterable[str]:
    before, after = ({each.name: each.at for each in one.calls} for one in (calm, found))
    moved = [after[name] - before[name] for name in before if name in after]
    late, early = max(moved, default=0.0), -min(moved, default=0.0)
    if late >= SHORT_SECONDS:
        yield f"call +{_long(late)}"
    if early >= SHORT_SECONDS:
        yield f"call -{_long(early)}"
    before, after = ({each.name: each.finished_at or 0.0 for each in one.records} for one in (calm, found))
    ended = max((after[name] - before[name] for name in before if name in after), default=0.0)
    if ended >= SHORT_SECONDS and abs(ended - late) >= 1:
        yield f"end +{_long(ended)}"
    settled = found.settled_at - calm.settled_at
    if not found.repaired and settled >= max(late + 1, ended + 1, SETTLED_SECONDS):
        yield f"settled +{_long(settled)}"


def _published(calm: Ending, found: Ending) -> Iterable[str]:
    yield from _changed((found.notices - calm.notices).total(), (calm.notices - found.notices).total(), "notice")
    yield from _changed((found.events - calm.events).total(), (calm.events - found.events).total(), "event")


def _repaired(calm: Ending, found: Ending) -> Iterable[str]:
    if found.resent > calm.resent:
        yield "sent again by the reconciler"
    if found.reconciled > calm.reconciled:
        yield "settled by the reconciler"
    if found.repaired:
        yield f"by index repair ({', '.join(found.repaired)})"


def _clock(name: Name) -> str:
    second, suffix = name
    days, second = divmod(second + 12 * 3600, 86_400)
    shown = f"{second // 3600:02}:{second // 60 % 60:02}" + (f":{second % 60:02}" if second % 60 else "")
    return shown + (f" ({days:+} d)" if days else "") + (f" ({suffix})" if suffix else "")


def _long(seconds: float) -> str:
    return f"{ceil(seconds)} s" if seconds < 100 else f"{ceil(seconds / 60)} min"
