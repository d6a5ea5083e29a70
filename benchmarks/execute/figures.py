"""The measurements of a case, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.spread import spread

DYNAMODB = frozenset({"GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "TransactWriteItems"})
SQS = frozenset({"SendMessage", "SendMessageBatch", "DeleteMessage", "ChangeMessageVisibility"})
POLLER_REQUESTS = 2
"""The requests of Lambda's poller to SQS for a successful batch: one receive and one deletion ("Using Lambda with
Amazon SQS", AWS Lambda Developer Guide). Both are billed to the queue's account.
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One side's CPU time (seconds per sample of `runs`), and the requests and units of one sample."""

    runs: int
    cpu: tuple[float, ...]
    requests: Mapping[str, int]
    units: Mapping[str, int]

    @property
    def milliseconds(self) -> list[float]:
        """The CPU time per run in each sample."""
        return [1000 * taken / self.runs for taken in self.cpu]

    def document(self, batch: int, *, deletes: bool) -> dict[str, Any]:
        """Return the figures as a part of the result. `deletes`: the side deletes its messages itself, so the poller
        only receives.
        """
        made = sum(count for name, count in self.requests.items() if name in SQS)
        polled = (POLLER_REQUESTS - deletes) / batch
        asked = sum(count for name, count in self.requests.items() if name in DYNAMODB | SQS)
        return {
            "cpu_ms_per_run": spread(self.milliseconds),
            "requests_per_1000": round(1000 * asked / self.runs, 1),
            "requests": {name: round(count / self.runs, 3) for name, count in sorted(self.requests.items())},
            "wru_per_run": round(self.units.get("write", 0) / self.runs, 3),
            "list_wru_per_run": round(self.units.get("list", 0) / self.runs, 3),
            "rru_per_run": round(self.units.get("read", 0) / self.runs, 3),
            "sqs_requests_per_run": round(made / self.runs + polled, 3),
            "sqs_requests_per_1000": round(1000 * (made / self.runs + polled), 1),
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """A case with all its sides, measured in turns."""

    says: str
    most_write_units: int
    ours: Side
    use_case: Side
    textbook: Side
    peak_rss_mb: float
    profile: tuple[str, ...] = field(default=())

    @property
    def write_units(self) -> float:
        """The write units of a run."""
        return self.ours.units.get("write", 0) / self.ours.runs

    def document(self, batch: int) -> dict[str, Any]:
        """Return the figures as a part of the result, with the names that `benchmarks.dispatch` uses. The ratio is the
        textbook's CPU divided by Duecourse's: above 1, Duecourse needs less.
        """
        ours = self.ours.document(batch, deletes=False)
        alone, ratio = self.use_case, spread(_ratios(self.textbook, self.ours))
        return {
            "says": self.says,
            **ours,
            "cpu_ms_per_run": ours["cpu_ms_per_run"]["median"],
            "cpu_ms_per_run_spread": ours["cpu_ms_per_run"],
            "cpu_ms_per_run_without_telemetry_spread": spread(alone.milliseconds),
            "cpu_ratio_vs_textbook": ratio["median"],
            "cpu_ratio_vs_textbook_spread": ratio,
            "cpu_ratio_vs_textbook_without_telemetry_spread": spread(_ratios(self.textbook, alone)),
            "peak_rss_mb": round(self.peak_rss_mb, 1),
            "textbook": self.textbook.document(batch, deletes=True),
            **({"profile_top": list(self.profile)} if self.profile else {}),
        }

    @property
    def within(self) -> bool:
        """Whether the write units are within the budget."""
        return 0 < self.write_units <= self.most_write_units


def _ratios(over: Side, under: Side) -> list[float]:
    """Return the ratios of samples of the same turn."""
    return [one / other for one, other in zip(over.milliseconds, under.milliseconds, strict=True)]
