"""What a fault changed, in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil

from tests.support.fault_table.ending import Ending, Name, Record

THE_SAME = "the same"


def in_words(calm: Ending, found: Ending) -> str:
    """How an ending differs from that without a fault."""
    differences = [
        *_asked(found),
        *_records(calm, found),
        *_attempts(calm, found),
        *_later(calm, found),
        *_told(calm, found),
        *_by_whom(calm, found),
    ]
    return "; ".join(differences) or THE_SAME


def _asked(found: Ending) -> Iterable[str]:
    if found.asked_again:
        yield "the caller asks again"


def _records(calm: Ending, found: Ending) -> Iterable[str]:
    before, after = ({record.name: record for record in each.records} for each in (calm, found))
    for name in sorted({*before, *after}):
        was, now = (_ended(each[name]) if name in each else None for each in (before, after))
        if was != now:
            yield f"{_clock(name)} {now or 'in no record of its own'} instead of {was or 'in no record of its own'}"


def _ended(record: Record) -> str:
    reason = f" ({record.reason})" if record.reason else ""
    through = f" through {_clock((record.through, ''))}" if record.through != record.name[0] else ""
    return f"{record.state}{reason}{through}"


def _attempts(calm: Ending, found: Ending) -> Iterable[str]:
    before, after = (Counter(each.name for each in one.calls) for one in (calm, found))
    more = sum((after - before).values())
    less = sum((before - after).values())
    if more:
        yield "one call more" if more == 1 else f"{more} calls more"
    if less:
        yield "one call less" if less == 1 else f"{less} calls less"
    tried = {record.name: record.attempt for record in calm.records}
    lost = sum(max(record.attempt - tried.get(record.name, record.attempt), 0) for record in found.records)
    if lost > more:
        yield "an attempt that called nothing"


def _later(calm: Ending, found: Ending) -> Iterable[str]:
    before, after = ({each.name: each.at for each in one.calls} for one in (calm, found))
    moved = [after[name] - before[name] for name in before if name in after]
    late, early = max(moved, default=0.0), -min(moved, default=0.0)
    if late >= 1:
        yield f"called {_long(late)} later"
    if early >= 1:
        yield f"called {_long(early)} earlier"
    before, after = ({each.name: each.finished_at or 0.0 for each in one.records} for one in (calm, found))
    ended = max((after[name] - before[name] for name in before if name in after), default=0.0)
    if ended >= 1 and abs(ended - late) >= 1:
        yield f"ended {_long(ended)} later"
    settled = found.settled_at - calm.settled_at
    if not found.repaired and settled >= max(late, ended, 0) + 1:
        yield f"all settled {_long(settled)} later"


def _told(calm: Ending, found: Ending) -> Iterable[str]:
    deaths = sum(found.notices.values()) - sum(calm.notices.values())
    if deaths:
        yield f"announced {deaths + sum(calm.notices.values())} times"
    more = sum((found.events - calm.events).values())
    less = sum((calm.events - found.events).values())
    if more:
        yield "one event more" if more == 1 else f"{more} events more"
    if less:
        yield "one event less" if less == 1 else f"{less} events less"


def _by_whom(calm: Ending, found: Ending) -> Iterable[str]:
    if found.resent > calm.resent:
        yield "sent afresh by the dead-letter reconciler"
    if found.reconciled > calm.reconciled:
        yield "settled by the dead-letter reconciler"
    if found.repaired:
        yield f"by index repair ({', '.join(found.repaired)})"


def _clock(name: Name) -> str:
    second, suffix = name
    days, second = divmod(second + 12 * 3600, 86_400)
    shown = f"{second // 3600:02}:{second // 60 % 60:02}" + (f":{second % 60:02}" if second % 60 else "")
    return shown + (f" ({days:+} d)" if days else "") + (" by hand" if suffix else "")


def _long(seconds: float) -> str:
    return f"{ceil(seconds)} s" if seconds < 100 else f"{ceil(seconds / 60)} min"
