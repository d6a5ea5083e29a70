"""Pauses and resumes jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.calendars import NO_PLANNED_PAUSE, PlannedPause, pause_of, with_pause
from duecourse.domain.jobs.cursor import Cursor, PlannedResume
from duecourse.domain.jobs.document import ChangeAction, changed
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.jobs.pause import (
    ALL_JOBS,
    PauseChange,
    pause,
    pause_again,
    resume,
    with_exclusions,
)
from duecourse.domain.tenants.rate import Charge, free
from duecourse.limits import LOST_RACES
from duecourse.ports import Clock, DefinitionUnreadableError, Listed, Outgoing, StoreBusyError
from duecourse.usecases.complete import complete_if_over
from duecourse.usecases.dispatch.claim import Skipping, settled
from duecourse.usecases.jobs.change import Draft, EditJobs, Jobs
from duecourse.usecases.jobs.job_errors import (
    ANYTHING,
    JobChangedError,
    JobUnknownError,
    JobUnreadableError,
    PauseEndError,
    Precondition,
    ShadowJobError,
)
from duecourse.usecases.jobs.view import JobView, changed_view
from duecourse_schedules import ScheduleError
from duecourse_schedules.exclusions import ExclusionError

if TYPE_CHECKING:
    from duecourse.settings import RoundSettings
    from duecourse.usecases.parts import Parts

MAX_PAUSE_DAYS = 366
"""How far ahead the planned end of a pause may be."""

MAX_PER_CALL = 100
"""The maximum number of jobs that one call reads, whether it is for a whole tenant or for a tag."""

BULK_SECONDS = 15.0
"""After this time a call for many jobs stops and returns a position to continue from: an HTTP API times out after 30
s.
"""


@dataclass(frozen=True, slots=True)
class JobSelection:
    """Selects the jobs with a tag, the jobs with these ids, or all jobs of the tenant (None)."""

    tag: str | None = None
    ids: frozenset[str] | None = None

    @property
    def name(self) -> str | None:
        """The name of a pause of these jobs (`Job.paused_with`); None for jobs that are selected by their ids."""
        return None if self.ids is not None else ALL_JOBS if self.tag is None else self.tag

    @property
    def pauses(self) -> frozenset[str] | None:
        """The names of the pauses that included all these jobs. None: all pauses."""
        return None if self.name is None else frozenset({ALL_JOBS, self.name})


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result for some of the selected jobs: the number of `changed` jobs, and the ids of the jobs that `failed`.
    The others needed no change. `following` continues after the last job (None: there are no more).
    """

    changed: int
    failed: tuple[str, ...]
    following: str | None


REFUSED = (
    *(JobChangedError, JobUnreadableError, DefinitionUnreadableError),
    *(StoreBusyError, ScheduleError, ExclusionError, ShadowJobError),
)
"""The errors after which a job stays as it is."""


def change_all(
    clock: Clock,
    until: float,
    jobs: Listed[str, str],
    act: Callable[[str], bool],
    refused: tuple[type[Exception], ...] = REFUSED,
) -> BulkResult:
    """Apply `act`, which returns whether the job changed, to each of the jobs until `until` (UTC seconds). An error in
    one job does not stop the others, if it is one of `refused`.
    """
    changed, failed = 0, list[str]()
    for number, job_id in enumerate(jobs.items):
        if number and clock.now() > until:
            return BulkResult(changed, tuple(failed), jobs.items[number - 1])
        try:
            changed += act(job_id)
        except refused:
            failed.append(job_id)
    return BulkResult(changed, tuple(failed), jobs.following)


class LeftAlone(Exception):
    """Raised for a job that does not change."""


PlanFor = Callable[[PlannedPause | None, float], PlannedPause | None]
"""Returns the planned pause that replaces the job's present one at an instant (UTC seconds)."""


@dataclass(frozen=True, slots=True)
class Pausing:
    """Pauses and resumes jobs. All methods are idempotent. A completed job stays completed.

    With an `end`, the job resumes automatically: a dispatch round does this (`Claiming.resume`).
    """

    parts: Parts[RoundSettings]
    jobs: Jobs
    skipping: Skipping

    def pause(
        self,
        tenant: str,
        job_id: str,
        *,
        by: str | None = None,
        note: str | None = None,
        start: int | None = None,
        end: PlannedResume | None = None,
        expected: Precondition = ANYTHING,
    ) -> JobView:
        """Stop the job from firing until it is resumed, or until `end`. If the job is already paused, its pause ends at
        `end` instead. With `start` (UTC seconds), the pause is planned: it is an excluded window of the job. `by` and
        `note` are shown to callers. A job without a schedule cannot have a plan. Raises JobUnknownError,
        JobVersionError, JobChangedError, JobUnreadableError or PauseEndError. Raises ScheduleError for a planned pause
        of such a job, or after which a job has no occurrence.
        """
        self._check_end(start, end)
        if start is not None and end is not None:
            self._plan(tenant, job_id, _plan_for(None, start, end, together=False), by, note, expected)
        else:
            self._pause(tenant, job_id, by, note, end, expected)
        return self.jobs.get(tenant, job_id)

    def resume(
        self,
        tenant: str,
        job_id: str,
        *,
        catch_up: bool,
        by: str | None = None,
        note: str | None = None,
        expected: Precondition = ANYTHING,
        correlation_id: str | None = None,
    ) -> JobView:
        """Let the job fire again. Occurrences during the pause are skipped, or treated as missed with `catch_up`.
        `note` is kept in the job's history. Raises the errors of `pause`, ScheduleError for a job whose schedule can no
        longer be compiled, and ShadowJobError for a shadow job.
        """
        changed = self._resume(tenant, job_id, catch_up, by, note, expected, correlation_id)
        view = self.jobs.get(tenant, job_id)
        if not changed:  # the request that resumed it may have ended before it sent the messages held by the pause
            self._start_held(view.job)
        return view

    def promote(
        self, shadow: Job, *, by: str | None, note: str, expected: Precondition, correlation_id: str | None
    ) -> tuple[JobView, bool]:
        """Resume the job, which is then no longer a `shadow`. Occurrences until now are skipped. Return the job, and
        whether this call resumed it: another promotion may have been faster. Raises the errors of `pause`, also
        JobChangedError if the job has changed since `shadow` was read.
        """
        tenant, job_id = shadow.tenant, shadow.id
        promoted = self._resume(tenant, job_id, False, by, note, expected, correlation_id, shadow=shadow)
        return self.jobs.get(tenant, job_id), promoted

    def pause_many(
        self,
        tenant: str,
        choice: JobSelection,
        *,
        by: str,
        note: str | None = None,
        start: int | None = None,
        end: PlannedResume | None = None,
        after: str | None = None,
        charge: Charge = free,
    ) -> BulkResult:
        """Pause active jobs among some of the selected jobs, beginning after `after`, until `end` if there is one. A
        job that is already paused is handled by `pause_again`, but does not change if the jobs are selected by their
        ids. Raises PauseEndError, and the errors of `charge` for their number.
        """
        self._check_end(start, end)

        def act(job_id: str) -> bool:
            if start is not None and end is not None:
                return self._plan(tenant, job_id, _plan_for(choice.name, start, end, together=True), by, note)
            return self._pause(tenant, job_id, by, note, end, ANYTHING, choice.name, again=choice.ids is None)

        return self._many(tenant, choice, after, charge, act)

    def resume_many(
        self,
        tenant: str,
        choice: JobSelection,
        *,
        catch_up: bool,
        others: bool = False,
        by: str | None = None,
        note: str | None = None,
        after: str | None = None,
        correlation_id: str | None = None,
        charge: Charge = free,
    ) -> BulkResult:
        """Resume some of the selected jobs, beginning after `after`: the jobs that were paused with the same tag or
        with all jobs. With `others`, or if the jobs are selected by their ids, jobs that were paused in another way are
        resumed too. Raises the errors of `pause_many`.
        """
        only = None if others else choice.pauses

        def act(job_id: str) -> bool:
            return self._resume(tenant, job_id, catch_up, by, note, ANYTHING, correlation_id, only)

        return self._many(tenant, choice, after, charge, act)

    def _pause(
        self,
        tenant: str,
        job_id: str,
        by: str | None,
        note: str | None,
        end: PlannedResume | None,
        expected: Precondition,
        together: str | None = None,
        again: bool = True,
    ) -> bool:
        def act(job: Job, cursor: Cursor) -> PauseChange | None:
            if job.state is JobState.PAUSED and not again:
                return None
            if job.shadow_since is not None and end is not None:
                raise ShadowJobError(job_id)
            change = pause if job.state is JobState.ACTIVE else pause_again
            return change(job, cursor, now=self.parts.clock.now(), because=note, by=by, together=together, end=end)

        made = self._change(tenant, job_id, ChangeAction.PAUSED, by, act, expected)
        if made is not None:
            self.jobs.send_ahead(made)
        return made is not None

    def _check_end(self, start: int | None, end: PlannedResume | None) -> None:
        now = self.parts.clock.now()
        if start is not None and start <= now:
            raise PauseEndError("is not in the future; remove it to pause now", "from")
        if start is not None and (end is None or end.at <= start):
            raise PauseEndError("is required if from is set, and must be after it")
        if end is not None and end.at <= now:
            raise PauseEndError("is in the past; choose a time in the future")
        if end is not None and end.at > now + MAX_PAUSE_DAYS * DAY_SECONDS:
            remedy = "or omit it, and resume the job manually"
            raise PauseEndError(f"is too far ahead; choose a time within {MAX_PAUSE_DAYS} days, {remedy}")

    def _resume(
        self,
        tenant: str,
        job_id: str,
        catch_up: bool,
        by: str | None,
        note: str | None,
        expected: Precondition,
        correlation_id: str | None,
        only: frozenset[str] | None = None,
        shadow: Job | None = None,
    ) -> bool:
        """Resume the job if a pause with one of these names paused it (None: any pause). A shadow job is resumed only
        if it is `shadow`.
        """

        def act(job: Job, cursor: Cursor) -> PauseChange | None:
            now = self.parts.clock.now()
            had = pause_of(job.exclude)
            left = after(had, now)
            exclude = job.exclude if left == had else with_pause(job.exclude, left)
            if only is None or job.paused_with in only:
                if shadow is not None and job.version != shadow.version:
                    raise JobChangedError(job_id)
                if shadow is None and job.shadow_since is not None:
                    raise ShadowJobError(job_id)
                job = replace(job, shadow_since=None)
                job, cursor = replace(job, exclude=exclude), replace(cursor, exclude=exclude)
                return resume(job, cursor, now=now, catch_up=catch_up)
            return None if left == had else with_exclusions(job, cursor, exclude, now=now)

        def after(had: PlannedPause | None, now: float) -> PlannedPause | None:
            if had is None or not (only is None or had.name in only):
                return had
            return had.resumed(now, catch_up=catch_up)

        active = list[Job]()
        change = self._change(tenant, job_id, ChangeAction.RESUMED, by, act, expected, note, leave=active.append)
        if change is None:
            if shadow is not None or not active or pause_of(active[0].exclude) is None:
                return False
            return self._plan(tenant, job_id, after, by, note, expected, what=ChangeAction.RESUMED)
        if change.job.state is JobState.PAUSED:
            self.jobs.send_ahead(change)
            return True
        self._start_held(change.job)
        self.jobs.send(changed_view(change.job, change.cursor), change.cursor, correlation_id)
        if change.cursor.ending:  # now, for the response; the next dispatch round checks it in any case
            complete_if_over(self.parts.jobs, self.skipping.runs, change.cursor, at=self.parts.clock.now())
        return True

    def _plan(
        self,
        tenant: str,
        job_id: str,
        plan_for: PlanFor,
        by: str | None,
        note: str | None,
        expected: Precondition = ANYTHING,
        what: ChangeAction = ChangeAction.PAUSED,
    ) -> bool:
        """Replace the planned pause of the job. Return whether the job changed. Raises the errors of EditJobs.patch."""

        def planned(job: Job) -> Draft:
            if not job.scheduled and what is ChangeAction.PAUSED:
                raise ScheduleError("from", _unplannable(job))
            if job.state is JobState.COMPLETED:
                raise LeftAlone
            had, now = pause_of(job.exclude), max(self.parts.clock.now(), job.changed_at)
            plan = plan_for(had, now)
            # A job whose last run has not ended yet is still ACTIVE. It has no more occurrences to exclude.
            if plan == had or (job.scheduled and job.occurrences().next(int(now)) is None):
                raise LeftAlone
            return Draft.of(job, exclude=with_pause(job.exclude, NO_PLANNED_PAUSE if plan is None else plan))

        editing = EditJobs(self.parts, self.jobs, self.skipping)
        try:
            return editing.patch(tenant, job_id, planned, expected, by=by, what=what, note=note).changed
        except LeftAlone:
            return False

    def _start_held(self, job: Job) -> None:
        """Start the held runs of a workflow's step. If a run's message is not accepted now, the run starts within 300
        s.
        """
        if job.workflow is None or job.state is JobState.PAUSED:
            return
        now = self.parts.clock.now()
        held = self.parts.wait_queues.held(job.tenant, job.id)
        fresh = [each.again(nonce=self.parts.randomness.nonce(), not_before=now) for each in held]
        sent = self.parts.lanes.send([Outgoing(each, 0) for each in fresh]) if fresh else []
        for message, accepted in zip(held, sent, strict=True):
            if accepted:
                self.parts.wait_queues.let_go(message)

    def _many(
        self, tenant: str, choice: JobSelection, after: str | None, charge: Charge, act: Callable[[str], bool]
    ) -> BulkResult:
        """Apply `act` to the selected jobs."""
        until = self.parts.clock.now() + BULK_SECONDS
        if choice.ids is None:
            page = self.parts.jobs.page_ids(tenant, choice.tag, limit=MAX_PER_CALL, after=after)
        else:
            page = Listed(sorted(each for each in choice.ids if after is None or each > after), None)
        charge(len(page.items))

        def act_if_known(job_id: str) -> bool:
            try:
                return act(job_id)
            except JobUnknownError:  # it was deleted in the meantime
                return False

        if choice.ids is None:
            return change_all(self.parts.clock, until, page, act_if_known)
        return change_all(self.parts.clock, until, page, act, (*REFUSED, JobUnknownError))

    def _change(
        self,
        tenant: str,
        job_id: str,
        what: ChangeAction,
        by: str | None,
        act: Callable[[Job, Cursor], PauseChange | None],
        expected: Precondition,
        note: str | None = None,
        leave: Callable[[Job], None] = lambda _: None,
    ) -> PauseChange | None:
        """Write the change. Return None if `what` is not possible in the job's state (`leave` then receives the job) or
        `act` changes nothing. Raises the errors of `pause`.
        """
        states = {JobState.PAUSED} if what is ChangeAction.RESUMED else {JobState.ACTIVE, JobState.PAUSED}
        for _ in range(LOST_RACES):
            # The job is read before its cursor: if the job changes in between, its condition fails.
            job = self.parts.jobs.get(tenant, job_id)
            if job is None:
                raise JobUnknownError(job_id)
            cursor = None if job.state not in states else self.parts.jobs.get_cursor(tenant, job_id)
            if cursor is not None and settled(self.parts.jobs, self.skipping, job, cursor, self.parts.clock.now()):
                continue
            expected.check(job)
            if job.state not in states:
                leave(job)
                return None
            if cursor is None:
                if self.parts.jobs.get(tenant, job_id) == job:
                    raise JobUnreadableError(job_id)
                continue  # deleted in between, and perhaps created again
            change = act(job, cursor)
            if change is None:
                return None
            records = self.skipping.records(cursor, change.skipped)
            record = changed(what, job, change.job, by, note)
            if self.parts.jobs.change(job, cursor, change.job, change.cursor, records, record):
                self.skipping.counts.add_skipped(records)
                return change
        raise JobChangedError(job_id)


def _unplannable(job: Job) -> str:
    """Return why the pause of a job without a schedule cannot be planned: it has no occurrence to exclude."""
    if job.workflow is not None:
        whole = f"plan a pause of the workflow {job.workflow}, or pause the step at that time, without from"
        return f"has no effect on a step of a workflow, which has no schedule; {whole}"
    return "has no effect on a job without a schedule, which runs only on demand; remove it to pause the job now"


def _plan_for(name: str | None, start: int, end: PlannedResume, *, together: bool) -> PlanFor:
    """Return the plan of a pause. A pause of many jobs (`together`) does not replace a plan with another name that ends
    at the same time or later. The job is rejected if it would lose a part of its plan: if the new plan covers only one
    end of a plan of many jobs, or begins after the end of a pause that is in progress.
    """
    plan = PlannedPause(name, start, end.at - 1, end.catch_up)

    def plan_for(had: PlannedPause | None, now: float) -> PlannedPause:
        if had is None or had.last < now:
            return plan
        if had.begin <= now and start > had.last + 1:
            said = f"is after the end of the pause that is in progress; begin at {to_iso(had.last + 1)} to extend it"
            raise ScheduleError("from", f"{said}, or resume the job first")
        if together and had.name != name:
            if had.begin > start and had.last >= plan.last:
                raise ScheduleError("from", "is before another planned pause of the job; resume the job first")
            if had.last >= plan.last:
                raise LeftAlone
            if now < had.begin < start:
                said = f"is after the start of another planned pause; begin at {to_iso(had.begin)} or earlier"
                raise ScheduleError("from", f"{said}, or resume the job first")
        return plan.extending(had, now)

    return plan_for
