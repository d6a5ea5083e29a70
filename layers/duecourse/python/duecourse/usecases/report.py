"""The report that a use case returns to its handler: decisions with stable action names, to be logged and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from duecourse.messages import OperationMessage, RunMessage
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

UNREADABLE = (ScheduleError, ExclusionError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""The errors that are raised for an item that was written by a newer release or edited manually. Such an error concerns
one job and is reported. An error of the store concerns all jobs, and the call is retried.
"""


def format_error(problem: BaseException) -> str:
    """Return an exception as text for a log line: its type and its message."""
    return f"{type(problem).__name__}: {problem}"


@dataclass(frozen=True, slots=True)
class Event:
    """A decision: a stable `action` and its facts. `alarming` events are logged as errors."""

    action: str
    facts: Mapping[str, object]
    alarming: bool = False


@dataclass(slots=True)
class Report:
    """Events in the order in which they happened, counts by metric name, and durations and ages (seconds) by metric
    name.

    `about` has the facts of every event, for example the job and run of a message. `by_target` has the counts by the
    type of the called target. `balances` has sums that can be negative, which are emitted by lane. `called` and
    `failing` have the targets of attempts that started and that failed (usecases.worker.trends). docs/observability.md
    has a row for each action and each metric.
    """

    about: Mapping[str, object] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    by_target: dict[str, Counter[str]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    ages: dict[str, float] = field(default_factory=dict)
    balances: dict[str, float] = field(default_factory=dict)

    def add(self, action: str, /, *, alarming: bool = False, **facts: object) -> None:
        """Add an event."""
        self.events.append(Event(action, {**self.about, **facts}, alarming))

    def count(self, metric: str, target: str | None) -> None:
        """Increment a count by one, also for the target's type if it is known (domain.targets.kinds.type_of)."""
        self.counts[metric] += 1
        if target is not None:
            self.by_target.setdefault(target, Counter())[metric] += 1

    def measure(self, metric: str, seconds: float) -> None:
        """Add a duration."""
        self.seconds.setdefault(metric, []).append(seconds)

    def age(self, metric: str, seconds: float) -> None:
        """Record a current age (seconds)."""
        self.ages[metric] = seconds

    def part(self) -> Report:
        """Return an empty report with the same `about`, to be merged into this one."""
        return Report(self.about)

    def merge(self, other: Report) -> None:
        """Add the contents of another report. The greater of two ages is kept."""
        self.events += other.events
        self.counts += other.counts
        for target, counts in other.by_target.items():
            self.by_target.setdefault(target, Counter()).update(counts)
        self.called |= other.called
        self.failing |= other.failing
        for metric, measured in other.seconds.items():
            self.seconds.setdefault(metric, []).extend(measured)
        for metric, seconds in other.ages.items():
            self.ages[metric] = max(seconds, self.ages.get(metric, seconds))


def about(message: RunMessage | OperationMessage) -> dict[str, object]:
    """Return the facts for every log line about a message: its tenant, job and run, or its operation."""
    if isinstance(message, OperationMessage):
        return {"tenant": message.tenant, "operation": message.operation, "page": message.page}
    named: dict[str, object] = {"tenant": message.tenant, "job_id": message.job_id, "run_id": message.run_id}
    return named if message.correlation_id is None else named | {"correlation_id": message.correlation_id}
