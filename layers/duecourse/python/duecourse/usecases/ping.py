"""Pings external monitors, which raise an alert if the pings stop (a dead man's switch). Best effort."""

from __future__ import annotations

from dataclasses import dataclass

from duecourse.ports import Clock, Pinger
from duecourse.usecases.report import Report

PING_TRIES = 2
PING_SECONDS = 5.0
"""The longest time of one try."""


@dataclass(frozen=True, slots=True)
class Pings:
    """Sends pings. A ping that fails twice is counted and logged; nothing else depends on it."""

    pinger: Pinger
    clock: Clock

    def send(self, url: str, until: float, report: Report) -> None:
        """Ping the address. No try lasts beyond `until` (UTC seconds)."""
        problem: str | None = "no time was left"
        for _ in range(PING_TRIES):
            left = until - self.clock.now()
            if left <= 0:
                break
            problem = self.pinger.ping(url, min(PING_SECONDS, left))
            if problem is None:
                return
        report.counts["PingsFailed"] += 1
        report.add("ping_failed", error=problem)


UNHEALTHY = ("TicksRefused", "RoundsWaiting", "ShardsOverdue", "QueuesUnread")
"""The metrics that a tick counts while runs may be late."""


@dataclass(frozen=True, slots=True)
class StagePing:
    """The ping of the stage itself, after each tick that found no problem. It may take at most `seconds`."""

    pings: Pings
    url: str
    seconds: float = 2 * PING_SECONDS

    def after_tick(self, report: Report) -> None:
        """Ping the address, unless `report` shows that the stage is unhealthy."""
        if not any(report.counts[name] for name in UNHEALTHY):
            self.pings.send(self.url, self.pings.clock.now() + self.seconds, report)
