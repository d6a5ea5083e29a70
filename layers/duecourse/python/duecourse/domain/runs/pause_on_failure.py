"""When a job that keeps failing is paused (`pause_on_failure`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from duecourse.domain.runs.run import Run, RunState


def deaths_in_a_row(runs: Iterable[Run], *, since: float) -> int:
    """How many of the runs that ended last, after `since`, are dead. `since` (UTC seconds) is the job's last change, so
    that the count of a resumed job starts at zero. Skipped and cancelled runs do not count.
    """
    spoke = (RunState.SUCCEEDED, RunState.DEAD)
    ended = [run for run in runs if run.state in spoke and run.finished_at is not None and run.finished_at > since]
    ended.sort(key=lambda run: run.finished_at or 0.0, reverse=True)
    return sum(1 for _ in takewhile(lambda run: run.state is RunState.DEAD, ended))
