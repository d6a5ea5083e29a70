"""The thresholds of a stage's alarms, and which kinds of alarms it can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from duecourse.limits import LANES, SHARD_RETENTION_SECONDS

USUAL_WATERMARK_SECONDS = 3 * 3600
"""How old a shard's first bucket may be in health: two hours behind, and up to one more until its hour is over."""


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
    """Runs that die within five minutes. Each death is announced on the topic of deaths and keeps its dead letter; this
    is
    for many at once.
    """
    lateness_seconds: Mapping[str, int] = field(default_factory=_lateness)
    """By lane: how late the latest hundredth of the starts may be."""
    patience_seconds: Mapping[str, int] = field(default_factory=_patience)
    """By lane: how long a message may be there beyond the 15 minutes for which it may have been held back."""
    throttled_minutes: int = 10
    """For how many minutes in a row claims may be throttled, or rounds end unfinished: a burst may, for a while."""
    metric_math: bool = True
    """Alarms over several metrics. The emulator cannot deploy them: there each metric has an alarm of its own."""
    dashboards: bool = True

    def problems(self, visibility: Mapping[str, int], *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Each wrong field with what would be right. `visibility`: by lane, after how many seconds a message comes
        again whose worker died; none may be an alarm for that alone.
        """
        usual, most_throttled = USUAL_WATERMARK_SECONDS, 60
        yield from _unless(self.watermark_seconds > usual, "watermark_seconds", f"must be more than {usual}")
        fits = 60 <= self.shard_queue_seconds < SHARD_RETENTION_SECONDS
        yield from _unless(fits, "shard_queue_seconds", f"must be between 60 and {SHARD_RETENTION_SECONDS - 1}")
        fits = 2 <= self.throttled_minutes <= most_throttled
        yield from _unless(fits, "throttled_minutes", f"must be between 2 and {most_throttled}")
        yield from _unless(self.deaths >= 0, "deaths", "must be at least 0")
        for name, leasts in (("lateness_seconds", {}), ("patience_seconds", visibility)):
            by_lane: Mapping[str, int] = getattr(self, name)
            yield from _unless(tuple(by_lane) == LANES, name, f"must name the lanes {', '.join(LANES)}")
            for lane, seconds in by_lane.items():
                least = leasts.get(lane, 1)
                yield from _unless(seconds >= least, f"{name}.{lane}", f"must be at least {least}")
        on = self.metric_math and on_this_machine
        yield from _unless(
            not on, "metric_math", "must be False on the local stage, because the emulator does not support it"
        )


def _unless(fits: bool, name: str, problem: str) -> Iterator[tuple[str, str]]:
    if not fits:
        yield name, problem
