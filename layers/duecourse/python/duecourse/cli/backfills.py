"""Follows a backfill until its runs have ended. A backfill is named by its job and the suffix of its runs:
`nightly.b3fa85f64`.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import get_args

from rich.progress import BarColumn, TextColumn

from duecourse.cli.progress import bar
from duecourse.cli.run_watcher import State
from duecourse.cli.terminal import CliError, InterruptedCliError, WaitTimeoutError, plain, say
from duecourse.client import Client
from duecourse.client.models import Change, Run

CHANGES = 500
"""The maximum number of the job's changes among which a backfill is searched."""

_NAME = re.compile(r"[^.]+(?P<suffix>\.[bf][^.]+)")


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    """The runs of a backfill that have started or are listed, by state. `count` is the number of all its runs."""

    count: int
    states: Counter[str]
    ended: int

    @classmethod
    def of(cls, runs: Iterable[Run], suffix: str, count: int) -> BackfillProgress:
        """Count the runs with this suffix."""
        found = [run for run in runs if run.id.endswith(suffix)]
        return cls(count, Counter(run.state for run in found), sum(run.is_final for run in found))

    @property
    def failed(self) -> int:
        """The number of runs that ended without success."""
        return self.ended - self.states["SUCCEEDED"]

    def __str__(self) -> str:
        states = ", ".join(f"{number:,} {state}" for state, number in self.states.most_common())
        return f"{self.ended:,} of {self.count:,} runs have ended{f': {states}' if states else ''}"


def suffix_of(name: str) -> str | None:
    """Return the suffix of a backfill (`.b3fa85f64`), or None if the name is that of a job or a run."""
    found = _NAME.fullmatch(name)
    return None if found is None else found["suffix"]


def follow_backfill(
    client: Client, job_id: str, suffix: str, every: float, timeout: float | None, *, quiet: bool
) -> BackfillProgress:
    """Show the progress of a backfill until its runs have ended. Raises CliError if there is no such backfill or if
    runs failed, WaitTimeoutError after the timeout (in seconds), and InterruptedCliError after Ctrl-C.
    """
    facts = _started(client, job_id, suffix).facts
    ends = None if timeout is None else time.monotonic() + timeout
    said: str | None = None
    try:
        with bar(TextColumn("{task.description}"), BarColumn(), quiet=quiet) as progress:
            shown = progress.add_task("reading the runs …", total=facts["runs"])
            while True:
                runs = client.list_runs(job_id, state=get_args(State), from_=facts["from"], to=facts["to"], limit=100)
                found = BackfillProgress.of(runs, suffix, facts["runs"])
                progress.update(shown, description=str(found), completed=found.ended)
                if progress.disable and not quiet and str(found) != said:
                    said = str(found)
                    say(said)
                left = every if ends is None else ends - time.monotonic()
                if found.ended >= found.count or left <= 0:
                    break
                time.sleep(min(left, every))
    except KeyboardInterrupt:
        remedy = f"follow it with duecourse runs watch {job_id}{suffix}"
        raise InterruptedCliError(plain(f"the backfill continues; {remedy}")) from None
    return found


def check_backfill(found: BackfillProgress, job_id: str, suffix: str, timeout: float | None) -> None:
    """Raise WaitTimeoutError for an unfinished backfill, and CliError for one with failed runs."""
    if found.ended < found.count:
        remedy = f"they continue: follow them with duecourse runs watch {job_id}{suffix}"
        raise WaitTimeoutError(plain(f"{found} after {timeout:g} s; {remedy}"))
    if found.failed:
        remedy = f"see duecourse runs list {job_id}"
        raise CliError(plain(f"{found.failed:,} run{'s' * (found.failed != 1)} did not succeed; {remedy}"))


def _started(client: Client, job_id: str, suffix: str) -> Change:
    changes = islice(client.get_job_history(job_id, limit=100), CHANGES)
    found = next((each for each in changes if each.facts.get("suffix") == suffix), None)
    if found is None:
        where = f"among its last {CHANGES} changes; see duecourse jobs history {job_id}"
        raise CliError(plain(f"{job_id} has no backfill {suffix} {where}"))
    return found
