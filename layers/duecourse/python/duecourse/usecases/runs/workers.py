"""Notes the pull workers that report about runs, and lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from duecourse.domain.ids import parse_run_id
from duecourse.domain.runs.states import Run
from duecourse.domain.runs.workers import (
    NOTED_SECONDS,
    RUN_SECONDS,
    ListedWorker,
    Sighting,
    group_of,
    is_listed,
    listed,
    noted,
)
from duecourse.domain.tenants.rate import Charge
from duecourse.limits import LOST_RACES
from duecourse.ports import AwsError
from duecourse.usecases.report import format_error

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts

MAX_REMEMBERED = 10_000
"""The maximum number of names and runs that a process remembers. Then it forgets all, and reads their notes again."""

RUNS_A_REQUEST = 100
"""The number of runs whose records are read for the price of one request: those of one BatchGetItem."""


@dataclass(frozen=True, slots=True)
class WorkerNotes:
    """Writes the notes. One instance serves all requests of a process, and remembers what it has noted: `_names` by
    tenant and name, `_runs` by tenant and run (UTC seconds).
    """

    parts: Parts[TableSettings]
    _names: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)
    _runs: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def note(self, run: Run, name: str | None) -> str | None:
        """Note that a worker has reported about the current attempt of a run, if its note is not recent. Nothing is
        read or written without a name. Never raises AwsError: the report about the run is more important. Return the
        error if the note could not be written; a later report repeats it.
        """
        if name is None:
            return None
        now, own, of_run = self.parts.clock.now(), (run.tenant, name), (run.tenant, run.run_id)
        if _is_recent(self._names.get(own), now, NOTED_SECONDS) or _is_recent(self._runs.get(of_run), now, RUN_SECONDS):
            return None
        if len(self._names) + len(self._runs) >= MAX_REMEMBERED:
            self._names.clear()
            self._runs.clear()
        self._runs[of_run] = now
        new, number = Sighting(name, now, run.run_id, run.attempt), group_of(name)
        try:
            for _ in range(LOST_RACES):
                before = self.parts.runs.workers.group(run.tenant, number)
                group = noted(before, new)
                if group is None or self.parts.runs.workers.replace(run.tenant, number, group):
                    standing = before if group is None else group
                    own_notes = (each.at for each in standing.sightings if each.name == name)
                    self._names[own] = max(own_notes, default=now)
                    return None
        except AwsError as error:
            return format_error(error)
        return "other processes have changed the item at the same time"


@dataclass(frozen=True, slots=True)
class WorkerList:
    """Lists the workers of a tenant."""

    parts: Parts[TableSettings]

    def all(
        self, tenant: str, within: Callable[[Set[str]], Set[str]], charge: Charge
    ) -> tuple[Sequence[ListedWorker], bool]:
        """Return the workers that reported in the last hour, the last one first, and whether these are all. Only those
        are returned whose noted run belongs to a job that `within` returns, given the ids of all such jobs. Others may
        have reported for these jobs too, so the list is not complete then. `charge` is called before runs are read, and
        its errors are raised. May be stale.
        """
        now, groups = self.parts.clock.now(), list(self.parts.runs.workers.all(tenant))
        complete = not any(each.displaced_at is not None and is_listed(each.displaced_at, now) for each in groups)
        # A note is at most NOTED_SECONDS older than the last report.
        found = [each for group in groups for each in group.sightings if is_listed(each.at + NOTED_SECONDS, now)]
        if not found:
            return (), complete
        names = {each.run_id: parse_run_id(each.run_id) for each in found}
        jobs = {name.job_id for name in names.values()}
        own = within(jobs)
        complete = complete and jobs <= own
        found = [each for each in found if names[each.run_id].job_id in own]
        names = {each.run_id: names[each.run_id] for each in found}
        charge(1 + len(names) // RUNS_A_REQUEST)
        runs = {run.run_id: run for run in self.parts.runs.get_many(tenant, names.values()).values()}
        shown = [listed(each, runs.get(each.run_id), now) for each in found]
        shown = [each for each in shown if is_listed(each.seen_at, now)]
        return sorted(shown, key=lambda each: (-each.seen_at, each.sighting.name)), complete


def _is_recent(at: float | None, now: float, seconds: float) -> bool:
    return at is not None and now - at < seconds
