"""The plan of the capacity for peaks (one item of the jobs table), and the counts of due entries for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from duecourse.domain.maintenance.peaks import Entry, Peak, PrescalePlan, Raised
from duecourse.messages import MessageError, read_run_message
from duecourse.stores import values
from duecourse.stores.keys import Item, key
from duecourse.stores.table import DUE, Absent, Between, Query, Set, Table, Tables, Update, equal
from duecourse.stores.timers import is_timer

PRESCALE_KEY = key("PRESCALE", "PLAN")

SAMPLED = 200
"""The number of entries of a slot that are read to find their queues: about 15 read units."""


class PrescaleStore:
    """The plan, and counts of the due index."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self) -> PrescalePlan:
        """Return the plan; an empty one before the first. Raises KeyError, TypeError or ValueError if this version
        cannot read it.
        """
        item = self._tables.get(Table.JOBS, PRESCALE_KEY)
        return PrescalePlan() if item is None else plan_of(values.parse(values.text(item, "plan")))

    def put(self, plan: PrescalePlan) -> PrescalePlan | None:
        """Write the plan over its own version, and return it with the next one; None if another writer was faster."""
        following = replace(plan, version=plan.version + 1)
        changes = Set("version", following.version), Set("plan", values.document(asdict(following)))
        condition = equal("version", plan.version) if plan.version else Absent()
        held = self._tables.write(Update(Table.JOBS, PRESCALE_KEY, changes, condition)).held
        return following if held else None

    def counts(self, slot: str, since: int, until: int) -> Iterator[tuple[int, int, int]]:
        """Yield `(first, last, entries)` for each page of the entries of a slot that are due from `since` to `until`
        (UTC seconds): their number, and the seconds between which they are due. A page has up to a megabyte of entries
        and costs 128 read units. The entries of the last page may all be due in its first second. May be stale.
        """
        start: Item | None = None
        while True:
            query = Query(Table.JOBS, slot, Between("due", since, until), DUE, start=start)
            entries, start = self._tables.count(query)
            if start is None:
                yield since, since, entries
                return
            reached = values.integer(start, "due")
            yield since, reached, entries
            since = reached

    def queues(self, slot: str, since: int, until: int) -> Counter[str]:
        """Return the queues (`normal`, `normal bulk`) of the first entries of a slot that are due from `since` to
        `until`. May be stale.
        """
        read = ("SK", "lane", "bulk", "message")
        query = Query(Table.JOBS, slot, Between("due", since, until), DUE, limit=SAMPLED, read=read)
        return Counter(filter(None, map(_queue_of, self._tables.query(query).items)))


def _queue_of(item: Item) -> str | None:
    """Return the queue of an entry; None if it cannot be read."""
    try:
        if not is_timer(item):
            return _named(values.text(item, "lane"), bulk="bulk" in item)
        message = read_run_message(values.text(item, "message"))
        return _named(message.lane.value, bulk=message.bulk)
    except (KeyError, MessageError):
        return None


def _named(lane: str, *, bulk: bool) -> str:
    return f"{lane} bulk" if bulk else lane


def plan_of(document: dict[str, Any]) -> PrescalePlan:
    """Return the plan of a stored document. Unknown fields are ignored. Raises KeyError, TypeError or ValueError."""
    return PrescalePlan(
        version=document["version"],
        peaks=tuple(
            Peak(each["minute"], each["runs"], each["busiest"], each["shares"], each["at_least"])
            for each in document["peaks"]
        ),
        raised={
            name: Raised(each["pollers"], each["paid_until"], each.get("left", 0), each.get("left_paid_until", 0))
            for name, each in document["raised"].items()
        },
        asked=document["asked"],
        charges=document.get("charges", {}),
        day=document["day"],
        spent=document["spent"],
        refused_until=document["refused_until"],
        history=tuple(Entry(each["at"], each["says"], each["dollars"]) for each in document["history"]),
    )
