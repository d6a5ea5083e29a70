"""Whether this region works, in a stage with a standby. Other stages have no `Standby`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from duecourse.checks.standby import Fence, Stopped, Unread, standing
from duecourse.ports import Clock
from duecourse.usecases.report import Report, format_error


@dataclass(frozen=True, slots=True)
class Standby:
    """Asks the fence. `read` returns it, or a copy that is at most FENCE_SECONDS old. `region` is this region."""

    read: Callable[[], Fence | None]
    clock: Clock
    region: str

    def stopped(self) -> Stopped | None:
        """Return why this region does not work; None if it works."""
        try:
            fence: Fence | Unread | None = self.read()
        except Exception as problem:  # noqa: BLE001 - whatever the error is, nothing may start without the fence
            fence = Unread(format_error(problem))
        found = standing(fence, self.region, self.clock.now())
        return found if isinstance(found, Stopped) else None

    @staticmethod
    def report_of(stopped: Stopped) -> Report:
        """Return the report of an invocation that does nothing."""
        report = Report()
        report.counts["FencesMissing"] += stopped.alarming
        report.add("region_stopped", alarming=stopped.alarming, reason=stopped.reason.value, detail=stopped.detail)
        return report

    def stops(self, publish: Callable[[Report], None], *, raises: bool = True) -> bool:
        """Return whether this region does not work, after publishing why. Raises StoppedError if no region is known to
        work, unless the function must not fail (`raises`).
        """
        if (stopped := self.stopped()) is None:
            return False
        publish(self.report_of(stopped))
        if stopped.alarming and raises:
            raise StoppedError(stopped.detail)
        return True


class StoppedError(RuntimeError):
    """No region is known to work. The error fails the invocation of a scheduled function, so that an alarm goes off."""
