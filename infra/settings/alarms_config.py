"""The thresholds of a stage's alarms, and which kinds of alarms it can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from duecourse.limits import LANES, SHARD_RETENTION_SECONDS

USUAL_WATERMARK_SECONDS = 3 * 3600
"""The maximum age of a shard's first bucket under normal conditions: a lag of two hours, and up to one hour until the
bucket's end.
"""


def _lateness() -> dict[str, int]:
    return {"high": 5, "normal": 5, "low": 60, "long": 60}


def _patience() -> dict[str, int]:
    return {"high": 300, "normal": 300, "low": 3_600, "long": 3_600}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsConfig:
    """The thresholds of a stage. An alarm goes off above them."""

    watermark_seconds: int = 12_600
    """The maximum age of the oldest bucket that a shard still reads."""
    shard_queue_seconds: int = 150
    """The maximum age of the oldest tick of a shard. A round takes up to 46 s, and the next tick waits for its end."""
    deaths: int = 10
    """The maximum number of runs that die within five minutes. Each death is also published on the topic of deaths and
    has a dead letter; this alarm is for many deaths at the same time.
    """
    lateness_seconds: Mapping[str, int] = field(default_factory=_lateness)
    """The maximum p99 lateness of starts by lane, in seconds."""
    patience_seconds: Mapping[str, int] = field(default_factory=_patience)
    """The maximum age of a message by lane, in addition to the delay of up to 15 minutes."""
    throttled_minutes: int = 10
    """The maximum number of consecutive minutes with throttled claims or unfinished rounds. A burst can cause them for
    a while.
    """
    metric_math: bool = True
    """Whether alarms can combine several metrics. If not, as on the emulator, each metric has a separate alarm."""
    dashboards: bool = True

    def problems(self, visibility: Mapping[str, int], *, on_this_machine: bool) -> Iterator[tuple[str, str]]:
        """Yield each invalid field with the requirement. `visibility` has the seconds by lane after which the message
        of a dead worker is delivered again. This redelivery alone must not cause an alarm.
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
