"""The metrics of a stage in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import ceil

from duecourse.checks.facts import StageFigures
from duecourse.checks.metrics import COUNTED, IN_TIME, STARTS, STEP_SECONDS, figures, first_step
from duecourse.checks.objectives import LATENESS_SECONDS
from duecourse.limits import LANES
from duecourse.ports import Clock
from duecourse.usecases.report import Report


@dataclass(frozen=True)
class MemoryMetrics:
    """Implementation of ports.StageMetrics. It has the workers' reports, as CloudWatch would have them without delay.
    It has no message ages, since no message stays in a lane.
    """

    clock: Clock
    counts: dict[float, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    lateness: dict[float, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, report: Report) -> None:
        """Add the counts and latenesses of a worker's report."""
        at = self.clock.now() // STEP_SECONDS * STEP_SECONDS
        self.counts[at].update(report.counts)
        self.lateness[at] += report.seconds.get("Lateness", ())

    def figures(self, api_id: str = "") -> StageFigures:
        """Return the metrics. See StageMetrics. There is no gateway, so there are no request metrics."""
        now = self.clock.now()
        counts = {at: counted for at, counted in self.counts.items() if at >= first_step(now)}
        late = {at: sorted(self.lateness[at]) for at in counts if self.lateness[at]}
        found = {
            ("Lateness", which): {at: 1000.0 * values[ceil(share * len(values)) - 1] for at, values in late.items()}
            for which, share in (("p50", 0.5), ("p99", 0.99))
        }
        seconds = {at: sum(each <= LATENESS_SECONDS for each in values) for at, values in late.items()}
        found["Lateness", IN_TIME] = {at: 100 * count / len(late[at]) for at, count in seconds.items()}
        found["Lateness", STARTS] = {at: float(len(values)) for at, values in late.items()}
        for name, functions in COUNTED.items():
            found |= {(name, function): {} for function in functions}
            found[name, "execute"] = {at: float(counted[name]) for at, counted in counts.items() if counted[name]}
        return figures(found, dict.fromkeys(LANES, ()), now)
