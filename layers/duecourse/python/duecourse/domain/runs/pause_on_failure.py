"""When a job that keeps failing is paused (`pause_on_failure`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from duecourse.domain.runs.run import Dead, Run, Succeeded


def deaths_in_a_row(runs: Iterable[Run], *, since: float) -> int:
    """How many of the runs that ended last, after `since`, are dead. `since` (UTC seconds) is the job's last change, so
    that the count of a resumed job starts at zero. Skipped and cancelled runs do not count.
    """
    ended = [run for run in runs if isinstance(run, Succeeded | Dead) and run.finished_at > since]
    ended.sort(key=lambda run: run.finished_at, reverse=True)
    return sum(1 for _ in takewhile(lambda run: isinstance(run, Dead), ended))
