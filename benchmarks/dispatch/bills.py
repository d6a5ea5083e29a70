"""The counts and capacity units of the requests of one side. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.dispatch.cases import NOW, PAGE, SHARDS
from benchmarks.wire.capacity import item_bytes, page_read_units, write_units
from duecourse.domain.jobs.cursor import plan
from duecourse.stores import cursor_item

HORIZON = 840
START, FINISH, LOCK = 1, 1, 1
"""The write units of a run's start, end and overlap lock (measured by benchmarks.execute)."""

CLAIM_INDEX_WRITES = 2
"""A claim changes the cursor's key in the due index, which deletes one index entry and writes another."""

SQS = frozenset({"SendMessage", "SendMessageBatch"})


@dataclass(frozen=True, slots=True)
class SideBill:
    """A side's requests for a number of firings. Items are measured after the claim, when they are largest."""

    firings: int
    claims: int
    requests: Mapping[str, int]
    item: Mapping[str, Any]
    read_units: float

    @property
    def claim_units(self) -> float:
        """The write units of the claims, per firing."""
        return self.claims * write_units(self.item, index_writes=CLAIM_INDEX_WRITES) / self.firings

    def document(self) -> dict[str, Any]:
        """Return the figures as a part of the result."""
        sent = sum(count for name, count in self.requests.items() if name in SQS)
        units = self.claim_units
        return {
            "cursor_bytes": item_bytes(self.item),
            "requests_per_1000": round(1000 * sum(self.requests.values()) / self.firings, 1),
            "requests": dict(self.requests),
            "sqs_requests_per_1000": round(1000 * sent / self.firings, 1),
            "rru_per_firing": round(self.read_units / self.firings, 4),
            "claim_wru_per_firing": round(units, 3),
            "wru_per_firing": round(units + START + FINISH, 3),
            "wru_per_firing_overlap_skip": round(units + START + FINISH + LOCK, 3),
        }


def ours_bill(stored: Sequence[Mapping[str, Any]], counts: Mapping[str, int], enqueued: int) -> SideBill:
    """Return the bill of a round that found the `stored` items and enqueued this number of firings."""
    pages = [stored[begin : begin + PAGE] for begin in range(0, len(stored), PAGE)]
    empty = counts["Query"] - len(pages)
    reads = sum(map(page_read_units, pages)) + empty / 2 + counts.get("GetItem", 0)
    return SideBill(enqueued, counts["statements"], _requests(counts), _moved(stored[0]), reads)


def textbook_bill(page: Sequence[Mapping[str, Any]], counts: Mapping[str, int]) -> SideBill:
    """Return the bill of a loop over one whole page. Its update moves the cursor in the index, as a claim does."""
    return SideBill(counts["messages"], counts["UpdateItem"], _requests(counts), _moved(page[0]), page_read_units(page))


def _moved(item: Mapping[str, Any]) -> Mapping[str, Any]:
    standing = cursor_item.from_item(dict(item))
    return cursor_item.to_item(plan(standing, now=NOW, horizon=HORIZON).cursor, SHARDS, now=NOW)


def _requests(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the requests by operation in lower case, without the counts of their parts."""
    return {operation: count for operation, count in counts.items() if operation[0].isupper()}
