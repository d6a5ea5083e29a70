"""From when on a stage tells its operators: the thresholds of its alarms, and which kinds of alarms it can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from infra.lanes_config import LANES

USUAL_WATERMARK_SECONDS = 3 * 3600
"""How old a shard's first bucket may be in health: two hours behind, and up to one more until its hour is over."""

SHARD_QUEUE_RETENTION_SECONDS = 300
"""Nothing in the shard queue grows older: it is dropped then."""


def _lateness() -> dict[str, int]:
    return {"high": 5, "normal": 5, "low": 60, "long": 60}


def _patience() -> dict[str, int]:
    return {"high": 300, "normal": 300, "low": 3_600, "long": 3_600}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsConfig:
    """Thresholds of a stage; an alarm goes off above them."""

    watermark_seconds: int = 12_600
    """How far the oldest bucket that a shard still looks at may lie behind now."""
    shard_queue_seconds: int = 150
    """How old the oldest tick of a shard may be: a round takes up to 46 s, and the next tick waits for its end."""
    deaths: int = 10
    """Runs that die within five minutes. Each death is told on the topic of deaths and keeps its dead letter; this is
    for many at once.
    """
    failure_percent: int = 5
    """Attempts that fail, of those that were started within five minutes."""
    failure_least: int = 20
    """Failed attempts within five minutes below which the rate says nothing: one of three is no outage."""
    lateness_seconds: Mapping[str, int] = field(default_factory=_lateness)
    """By lane: how late the latest hundredth of the starts may be."""
    patience_seconds: Mapping[str, int] = field(default_factory=_patience)
    """By lane: how long a message may be there beyond the 15 minutes for which it may have been held back."""
    throttled_minutes: int = 10
    """For how many minutes in a row claims may be throttled: a burst may, for a while."""
    function_errors: int = 2
    """Errors within five minutes of a function that is called every minute or more often; the others may have none."""
    table_throttles: int = 50
    """Throttled requests to a table or index within five minutes: the functions ask again by themselves."""
    metric_math: bool = True
    """Alarms over what is worked out from metrics. The emulator cannot deploy them."""
    composite: bool = True
    """The alarm over others, `JobsAreNotFiring`. The emulator cannot deploy it; its members tell by themselves then."""
    dashboards: bool = True

    def problems(self, visibility: Mapping[str, int], *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right. `visibility`: by lane, after how many seconds a message comes
        again whose worker died; none may be an alarm for that alone.
        """
        usual, most_throttled = USUAL_WATERMARK_SECONDS, 60
        yield from _unless(self.watermark_seconds > usual, "watermark_seconds", f"must be more than {usual}")
        fits = 60 <= self.shard_queue_seconds < SHARD_QUEUE_RETENTION_SECONDS
        yield from _unless(fits, "shard_queue_seconds", f"must lie between 60 and {SHARD_QUEUE_RETENTION_SECONDS - 1}")
        yield from _unless(1 <= self.failure_percent <= 99, "failure_percent", "must lie between 1 and 99")
        fits = 2 <= self.throttled_minutes <= most_throttled
        yield from _unless(fits, "throttled_minutes", f"must lie between 2 and {most_throttled}")
        for name, least in (("deaths", 0), ("failure_least", 1), ("function_errors", 0), ("table_throttles", 0)):
            yield from _unless(getattr(self, name) >= least, name, f"must be at least {least}")
        for name, leasts in (("lateness_seconds", {}), ("patience_seconds", visibility)):
            by_lane: Mapping[str, int] = getattr(self, name)
            yield from _unless(tuple(by_lane) == LANES, name, f"must name the lanes {', '.join(LANES)}")
            for lane, seconds in by_lane.items():
                least = leasts.get(lane, 1)
                yield from _unless(seconds >= least, f"{name}.{lane}", f"must be at least {least}")
        for name in ("metric_math", "composite"):
            on = getattr(self, name) and on_this_machine
            yield from _unless(not on, name, "must be False on this machine: the emulator cannot deploy it")


def _unless(fits: bool, name: str, problem: str) -> Iterator[tuple[str, str]]:
    """The problem, where there is one."""
    if not fits:
        yield name, problem
