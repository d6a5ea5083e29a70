"""The cost of a request, and its budgets. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MAX_MS = 250
MAX_MB = 100
"""The budget of memory per token."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a request: CPU in milliseconds, memory in MB. A request without `tokens` belongs to a route that
    takes none, because its caller has no tenant.
    """

    route: str
    worst: str
    status: int
    tokens: int
    cpu_ms: float
    memory_mb: float

    @property
    def per_token(self) -> tuple[float, float]:
        """CPU and memory per token."""
        tokens = max(self.tokens, 1)
        return self.cpu_ms / tokens, self.memory_mb / tokens

    @property
    def kept(self) -> bool:
        """Whether the cost is within the budgets."""
        milliseconds, megabytes = self.per_token
        return milliseconds <= MAX_MS and megabytes <= MAX_MB


def table(costs: Iterable[Cost]) -> str:
    """Return the table of docs/security.md."""
    rows = ["| route | worst request | tokens | CPU | memory | per token |", "|---|---|---|---|---|---|"]
    for each in costs:
        milliseconds, megabytes = each.per_token
        tokens = f"{each.tokens:,}" if each.tokens else "none"
        rows.append(
            f"| `{each.route}` | {each.worst} | {tokens} | {each.cpu_ms:,.0f} ms "
            f"| {each.memory_mb:,.0f} MB | {milliseconds:,.1f} ms, {megabytes:,.1f} MB |"
        )
    return "\n".join(rows)
