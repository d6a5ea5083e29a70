"""Requests of callers (manual runs, backfills, skips) in the runs table."""

from __future__ import annotations

from base64 import b85decode, b85encode
from dataclasses import asdict
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any
from zlib import compress, decompress

import orjson

from duecourse.domain.ids import RunName
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.jobs.backfill import Backfill, Only
from duecourse.domain.runs.states import Run
from duecourse.ports import AwsError, Input
from duecourse.stores import values
from duecourse.stores.keys import Item, job_key
from duecourse.stores.run_item import EVERY_RUN, Listing
from duecourse.stores.table import ENDED, Absent, Present, Put, Returned, Set, Table, Tables, Update, all_of, equal

PREFIX = "INPUT#"
WINDOW_PREFIX = "WINDOW#"
"""The last window of a group of debounced requests."""

_PLAIN = (
    *("requested_at", "requested_by", "fingerprint", "generation", "expires_at", "occurrence", "sent"),
    *("correlation_id", "workflow", "refused"),
)
"""The fields that are attributes of the same names."""


class Inputs:
    """The requests of callers: one item `JOB#…/INPUT#.m…` for each request, however many runs it has."""

    def __init__(self, tables: Tables, listing: Listing = EVERY_RUN) -> None:
        self._tables = tables
        self._listing = listing

    def put(self, tenant: str, job_id: str, wanted: Input, instead_of: Input | None = None) -> Input | None:
        """Write the request if there is none with its suffix, or `instead_of` that one. Return None if it was written,
        else the existing request.
        """
        item = to_item(tenant, job_id, wanted, self._listing)
        condition = Absent() if instead_of is None else equal("expires_at", instead_of.expires_at)
        try:
            written = self._tables.write(Put(Table.RUNS, item, condition), Returned.FOUND)
        except AwsError:
            if self.get(tenant, job_id, wanted.suffix) != wanted:
                raise
            return None  # the response of this request's own write was lost
        if written.held:
            return None
        # No item was returned or found: it has just expired.
        standing = self.get(tenant, job_id, wanted.suffix) if written.item is None else from_item(written.item)
        return None if standing == wanted else standing

    def get(self, tenant: str, job_id: str, suffix: str) -> Input | None:
        """Return the request with that suffix. Strongly consistent."""
        item = self._tables.get(Table.RUNS, job_key(tenant, job_id, PREFIX + suffix))
        return None if item is None else from_item(item)

    def replace_payload(self, tenant: str, job_id: str, standing: Input, payload: Any) -> bool:
        """Give an existing request another payload. Return False if its run was given another time since it was
        read.
        """
        key, change = job_key(tenant, job_id, PREFIX + standing.suffix), Set("payload", values.document(payload))
        unchanged = equal("expires_at", standing.expires_at)
        return self._tables.write(Update(Table.RUNS, key, (change,), unchanged)).held

    def window_end(self, tenant: str, job_id: str, group: str) -> int | None:
        """Return the end of the last window of a group of debounced requests (UTC seconds); None if there was none.
        Strongly consistent.
        """
        item = self._tables.get(Table.RUNS, _window_key(tenant, job_id, group))
        return None if item is None else values.integer(item, "end")

    def open_window(self, tenant: str, job_id: str, group: str, end: int, *, instead_of: int | None) -> bool:
        """Open a window until `end` (UTC seconds). Return False if its last window does not end at `instead_of`."""
        item = _window_key(tenant, job_id, group) | values.pack({"end": end, "expires_at": end + DAY_SECONDS})
        last = Absent() if instead_of is None else equal("end", instead_of)
        return self._tables.write(Put(Table.RUNS, item, last)).held

    def mark_sent(self, tenant: str, job_id: str, suffix: str) -> None:
        """Record that all messages of the request were sent."""
        key = job_key(tenant, job_id, PREFIX + suffix)
        self._tables.write(Update(Table.RUNS, key, (Set("sent", True),), Present()))

    def mark_refused(self, tenant: str, job_id: str, suffix: str) -> None:
        """Record that the message of the request was not accepted, unless a repetition sent it."""
        key = job_key(tenant, job_id, PREFIX + suffix)
        self._tables.write(Update(Table.RUNS, key, (Set("refused", True),), all_of(Present(), Absent("sent"))))


def to_item(tenant: str, job_id: str, wanted: Input, listing: Listing = EVERY_RUN) -> Item:
    """Return the item of a request, with the keys of the list of delayed runs if its run is one (`delayed_runs`).
    Payload and range are stored as JSON, so that a null payload differs from an absent one.
    """
    asked, listed = wanted.backfill, dict[str, str | float]()
    if wanted.delayed and wanted.occurrence is not None:
        listed = listing.delayed_keys(tenant, RunName(job_id, wanted.occurrence, wanted.suffix))
    return job_key(tenant, job_id, PREFIX + wanted.suffix) | values.pack(
        {
            **listed,
            **{name: getattr(wanted, name) for name in _PLAIN},
            "payload": _payload(wanted),
            "backfill": None if asked is None else values.document(_document(asked)),
            "sent": wanted.sent or None,
            "refused": wanted.refused or None,
        }
    )


def rescheduled(run: Run, payload: tuple[Any] | None, expires_at: int, listing: Listing) -> Update:
    """Return the change of the request for a run that is rescheduled: its place in the list of delayed runs, its
    expiry, and its payload (None: it stays).
    """
    listed = listing.delayed_keys(run.tenant, run.name, run.due)
    changes = [Set(name, value) for name, value in listed.items()]
    changes.append(Set("expires_at", expires_at))
    if payload is not None:
        changes.append(Set("payload", values.document(payload[0])))
    return Update(Table.RUNS, job_key(run.tenant, run.job_id, PREFIX + run.suffix), tuple(changes), Present())


def _payload(wanted: Input) -> str | None:
    return values.document(wanted.payload) if wanted.own_payload else None


def _window_key(tenant: str, job_id: str, group: str) -> Item:
    return job_key(tenant, job_id, WINDOW_PREFIX + sha256(group.encode()).hexdigest()[:32])


def from_item(item: Item) -> Input:
    """Return the request of an item. Raises KeyError or ValueError if this version cannot read the item."""
    payload = values.optional_text(item, "payload")
    asked = values.optional_text(item, "backfill")
    return Input(
        suffix=item["SK"]["S"].removeprefix(PREFIX),
        own_payload=payload is not None,
        payload=None if payload is None else values.parse(payload),
        backfill=None if asked is None else _backfill(values.parse(asked)),
        delayed=ENDED.partition in item,
        **values.read_fields(Input, item, _PLAIN),
    )


def _backfill(asked: dict[str, Any]) -> Backfill:
    """Return the backfill of a stored document. Fields of later versions are ignored."""
    return Backfill(
        asked["since"],
        asked["until"],
        asked["pace_seconds"],
        asked["newest_first"],
        Only(asked.get("only", Only.ALL)),
        asked.get("force_new_key", False),
        None if asked.get("chosen") is None else _unpacked(asked["chosen"]),
        asked.get("at_once"),
    )


def _document(asked: Backfill) -> dict[str, Any]:
    """Return the stored document of a backfill. Its chosen occurrences are compressed: their distances are mostly
    equal, so that 10,000 of them take about 100 bytes.
    """
    document = asdict(asked)
    if asked.chosen is None:
        del document["chosen"]
    else:
        distances = [at - before for before, at in pairwise((0, *asked.chosen))]
        document["chosen"] = b85encode(compress(orjson.dumps(distances))).decode()
    return document


def _unpacked(chosen: str) -> tuple[int, ...]:
    return tuple(accumulate(orjson.loads(decompress(b85decode(chosen)))))
