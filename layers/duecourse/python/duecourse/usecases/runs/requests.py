"""Manual runs: immediate, delayed, and for past occurrences.

A request has an author and an idempotency key. Its run has no record until it starts.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import Enum, auto
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Any

import orjson

from duecourse.domain.ids import RunIdentity, to_basic
from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS, DAY_SECONDS, to_iso
from duecourse.domain.jobs.backfill import (
    COUNTED,
    Backfill,
    BackfillPlan,
    BackfillTooLargeError,
    Standing,
    estimated_cost,
    limit_of,
    own_limit,
    plan_backfill,
)
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord, asked
from duecourse.domain.jobs.job import Deadline, Job
from duecourse.domain.runs.coverage import recorded, standings
from duecourse.domain.runs.states import Queued, Run
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.tenants.seats import Starting, has_seat
from duecourse.limits import LOST_RACES, MAX_DELAY_SECONDS, MESSAGE_RETENTION_DAYS
from duecourse.messages import RunMessage, deadline_checks
from duecourse.ports import AwsError, Input, Outgoing, Timer
from duecourse.usecases.dispatch.claim import checks_of
from duecourse.usecases.jobs.job_errors import ANYTHING, JobUnknownError, KeyReusedError, Precondition
from duecourse.usecases.jobs.view import AT_ONCE_SECONDS
from duecourse.usecases.tenants import DelayedRunQuota, RunQuotaError
from duecourse_schedules import ScheduleError, compile_schedule
from duecourse_schedules.instant import parse_moment

if TYPE_CHECKING:
    from duecourse.settings import ApiSettings, LaneSettings
    from duecourse.usecases.parts import Parts

SUFFIX_CHARACTERS = 8
"""The length of a suffix: 48 bits are enough to avoid collisions within a job."""

MAX_BY = 256

MAX_AHEAD_DAYS = 366
"""How far ahead a run can be requested."""

PAST_SECONDS = 60
"""How far a requested time may be in the past (seconds), because clocks differ and a request takes time. The run then
starts immediately.
"""

KEPT_LONGER_DAYS = 30
"""How many days longer a request is kept than its run's record: retries and redrives need its payload."""


CHARGED_RECORDS = 1000
"""The number of occurrences of a backfill's plan that count as one more request, because the plan reads their records.
"""

RECORDS_PER_OCCURRENCE = 3
"""The number of records that are read for each allowed occurrence: earlier backfills have separate records."""

EARLIER_RECORDS = 10
"""The number of records before a range among which the last scheduled run is searched."""


class LaneUnavailableError(Exception):
    """The run's lane did not accept the message, so the request affects no runs except those in `started`. The history
    of the job may have it.
    """

    def __init__(self, what: str, started: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.started = started


def queued_run(job: Job, occurrence: int, due: int) -> Queued:
    """Return an enqueued run without a record, as it is shown to callers."""
    return Queued(
        RunIdentity(job.tenant, job.id, occurrence, due, job.generation),
        lane=job.lane,
        attempts_allowed=job.attempts_allowed,
    )


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The author (`by`), the idempotency key (None: every request is new), and the `correlation_id` of the request's
    runs.
    """

    by: str
    key: str | None = None
    correlation_id: str | None = None

    def suffix(self, letter: str, job: Job, nonce: str) -> str:
        """Return the suffix of the request's runs (`.m3kQ…`), derived from its key, or from `nonce` if it has no key. A
        job that was re-created with the same id has a different suffix.
        """
        seed = f"nonce {nonce}" if self.key is None else f"key {job.created_generation} {self.key}"
        digest = sha256(f"{letter} {seed}".encode()).digest()
        return f".{letter}{urlsafe_b64encode(digest).decode()[:SUFFIX_CHARACTERS]}"

    def record(self, what: ChangeAction, job: Job, wanted: Input, **facts: object) -> ChangeRecord:
        """Return the change record of the request `wanted`. A repeated request has the same record."""
        of, at = (job.tenant, job.id), wanted.requested_at
        return asked(what, of, wanted.requested_by, at, wanted.suffix, job.revision, **facts)

    def fingerprint(self, said: object) -> str:
        """Return what distinguishes a repeated request from a different request (`said`: JSON) with the same key."""
        return sha256(orjson.dumps([self.key, said], option=orjson.OPT_SORT_KEYS)).hexdigest()


def requested_run(job: Job, asked: Input, occurrence: int, due: int) -> Run:
    """Return a requested run without a record."""
    run = queued_run(job, occurrence, due)
    identity = replace(
        run.identity,
        suffix=asked.suffix,
        own_payload=asked.own_payload,
        requested_by=asked.requested_by,
        correlation_id=asked.correlation_id,
        workflow=asked.workflow,
        at_once=None if asked.backfill is None else asked.backfill.at_once,
    )
    return replace(run, identity=identity)


def single_run(job: Job, asked: Input) -> Run:
    """Return the only run of a request, without a record. A rerun (`workflow`) is due when it was requested."""
    occurrence = int(asked.requested_at) if asked.occurrence is None else asked.occurrence
    return requested_run(job, asked, occurrence, int(asked.requested_at) if asked.workflow else occurrence)


def message_of(job: Job, run: Run, nonce: str) -> RunMessage:
    """Return the message that starts a requested run of the job."""
    return RunMessage(
        run.identity,
        lane=run.lane,
        bulk=not has_seat(job, run.lane, Starting(run.generation, float(run.due), manual=True)),
        not_before=float(run.due),
        nonce=nonce,
    )


@dataclass(frozen=True, slots=True)
class OwnPayload:
    """A payload that replaces the job's payload. It may be None (JSON null)."""

    payload: Any


@dataclass(frozen=True, slots=True)
class Requests:
    """Writes requests with their authors, then sends their runs. After a crash in between, the caller repeats the
    request; with an idempotency key, the result is the same runs. Requests are kept a little longer than
    records.
    """

    parts: Parts[LaneSettings]

    def wanted(
        self,
        run_request: RunRequest,
        job: Job,
        said: object,
        *,
        now: float,
        last: int,
        letter: str = "m",
        occurrence: int | None = None,
        given: OwnPayload | None = None,
        delayed: bool = False,
    ) -> Input:
        """Return a request made at `now` whose last run is due at `last` (UTC seconds). `said` is plain JSON that
        distinguishes a repeated request from a different request with the same key. `delayed`: its run is listed as a
        delayed run.
        """
        return Input(
            suffix=run_request.suffix(letter, job, self.parts.randomness.nonce()),
            requested_at=now,
            requested_by=run_request.by[:MAX_BY],
            correlation_id=run_request.correlation_id,
            fingerprint=run_request.fingerprint(said),
            generation=job.generation,
            expires_at=last + (self.parts.settings.run_retention_days + KEPT_LONGER_DAYS) * DAY_SECONDS,
            occurrence=occurrence,
            own_payload=given is not None,
            payload=None if given is None else given.payload,
            delayed=delayed,
        )

    def put(self, run_request: RunRequest, job: Job, wanted: Input, instead_of: Input | None = None) -> Input | None:
        """Write the request, if necessary `instead_of` an earlier one. Return the first request if this one repeats it.
        Raises KeyReusedError.
        """
        found = self.parts.inputs.put(job.tenant, job.id, wanted, instead_of)
        return _repeated(run_request, found, wanted.fingerprint)

    def standing(self, run_request: RunRequest, letter: str, job: Job, said: object) -> Input | None:
        """Return the first request if this one repeats it; see `wanted`. Raises KeyReusedError."""
        if run_request.key is None:
            return None
        found = self.parts.inputs.get(job.tenant, job.id, run_request.suffix(letter, job, ""))
        return _repeated(run_request, found, run_request.fingerprint(said))

    def present(self, job: Job, standing: Input, now: float) -> Run | None:
        """Return the run of a repeated request if its message need not be sent again."""
        run = single_run(job, standing)
        record = self.parts.runs.get(job.tenant, job.id, run.name.local)
        # Its record may have expired. Until then, a second message is dropped.
        over = standing.sent or (not standing.refused and now > run.due + MESSAGE_RETENTION_DAYS * DAY_SECONDS)
        return record or (run if over else None)

    def once(
        self,
        run_request: RunRequest,
        job: Job,
        given: OwnPayload,
        said: object = None,
        *,
        due: int | None = None,
        deadlines: Sequence[Deadline] = (),
    ) -> Run:
        """Return the run of a request of Duecourse itself, and send it unless it was sent before, with the checks of
        these deadlines. Only a repetition marks that it was sent, so that most requests need no mark. `said`
        distinguishes a repetition from another request with the same key. Raises KeyReusedError or
        LaneUnavailableError.
        """
        now = self.parts.clock.now()
        at = int(now) if due is None else max(due, int(now))
        wanted = self.wanted(run_request, job, said, now=now, last=at, occurrence=at, given=given)
        standing = self.put(run_request, job, wanted)
        asked = standing or wanted
        if standing is None or self.present(job, standing, now) is None:
            repeated = standing is not None
            for check in self.start_run(run_request, job, asked, now=now, repeated=repeated, deadlines=deadlines):
                self.parts.timers.put(Timer(check, ceil(check.not_before)))
        return single_run(job, asked)

    def start_run(
        self,
        run_request: RunRequest,
        job: Job,
        asked: Input,
        *,
        now: float,
        repeated: bool,
        deadlines: Sequence[Deadline] = (),
    ) -> list[RunMessage]:
        """Send the message of the only run of a request, followed by checks of these deadlines. Return the checks that
        were not accepted. `repeated`: the request may have sent them before. Raises LaneUnavailableError.
        """
        run, nonce = single_run(job, asked), self.parts.randomness.nonce
        start = Outgoing(message_of(job, run, nonce()), max(ceil(run.due - now), 0))
        checks = checks_of([start], deadlines, job.schedule.timezone, now=now, nonce=nonce)
        accepted, *fine = self.parts.lanes.send([start, *checks])
        if not accepted:
            if not repeated:  # otherwise an earlier message may have been accepted
                with suppress(AwsError):  # the run is then shown as queued until its message would have expired
                    self.parts.inputs.mark_refused(job.tenant, job.id, asked.suffix)
            raise LaneUnavailableError(str(run.name))
        # The first repetition may send a second start, which workers drop. But a second check would announce the missed
        # deadline again.
        if repeated or checks:
            self.mark_sent(run_request, job, asked)
        return [check.message for check, sent in zip(checks, fine, strict=True) if not sent]

    def mark_sent(self, run_request: RunRequest, job: Job, asked: Input) -> None:
        """Record that all messages of a request that can be repeated were sent, so that no repetition sends them."""
        if run_request.key is not None:
            self.parts.inputs.mark_sent(job.tenant, job.id, asked.suffix)


class RequestsOfCallers(Requests):
    """Also checks the deadlines of the job, and writes its history. Functions that deliver notices need no access for
    this.
    """

    __slots__ = ()

    def start_noted(
        self,
        run_request: RunRequest,
        job: Job,
        asked: Input,
        *,
        now: float,
        repeated: bool,
        facts: Mapping[str, object] | None,
    ) -> Run:
        """Start and return the only run of a request. `repeated` is the same as in `start_run`. With `facts`, the
        history of the job contains it. Raises LaneUnavailableError.
        """
        run = single_run(job, asked)
        if facts is not None:
            self.parts.jobs.note([run_request.record(ChangeAction.RUN_NOW, job, asked, run_id=run.run_id, **facts)])
        unsent = self.start_run(run_request, job, asked, now=now, repeated=repeated, deadlines=job.deadlines)
        self.put_checks(unsent)
        return run

    def put_checks(self, checks: Sequence[RunMessage]) -> None:
        """Write the timers of messages that check deadlines."""
        if checks:
            self.parts.timers.put_all([Timer(each, ceil(each.not_before)) for each in checks])


def _repeated(run_request: RunRequest, found: Input | None, fingerprint: str) -> Input | None:
    if found is not None and found.fingerprint != fingerprint:
        raise KeyReusedError(run_request.key)
    return found


class Repeats(Enum):
    """Which requests with the same idempotency key repeat the first one: those with the same payload (others are
    rejected), or all of them, and then which payload the run gets.
    """

    SAME = auto()
    FIRST_PAYLOAD = auto()
    LAST_PAYLOAD = auto()


@dataclass(frozen=True, slots=True)
class Later:
    """When a run starts: `at` an instant (UTC seconds), or after `delay_seconds`."""

    at: int | None = None
    delay_seconds: int | None = None

    def due(self, now: float) -> int:
        """Return the instant (UTC seconds) for a request at `now` (UTC seconds)."""
        return ceil(now + (self.delay_seconds or 0)) if self.at is None else self.at


def instant_of(job: Job, text: str) -> int:
    """Return the instant (UTC seconds) for a text: ISO-8601 with an offset, or a time in the job's zone, which is read
    like the job's schedule `at(...)`. Raises ScheduleError (on `at`).
    """
    try:
        moment = parse_moment(text.upper())
    except ScheduleError as error:
        raise ScheduleError("at", error.detail) from None
    if moment is None:
        raise ScheduleError("at", "must be a date and time, such as 2026-12-24T18:00:00 or 2026-12-24T18:00:00+01:00")
    once = replace(job.schedule, expression=moment.canonical, anchor=None, start=None, end=None)
    instant = compile_schedule(once).next(0)
    if instant is None:
        raise ScheduleError("at", f"does not exist in {job.schedule.timezone} (clocks go forward); choose another time")
    return instant


@dataclass(frozen=True, slots=True)
class Manual(RequestsOfCallers):
    """Runs jobs on request. The message of a run that is due later is a timer."""

    quota: DelayedRunQuota

    def job(self, tenant: str, job_id: str, expected: Precondition = ANYTHING) -> Job:
        """Return the job to be run. Raises JobUnknownError or JobVersionError."""
        job = self.parts.jobs.get(tenant, job_id)
        if job is None:
            raise JobUnknownError(job_id)
        expected.check(job)
        return job

    def run(
        self,
        job: Job,
        run_request: RunRequest,
        given: OwnPayload | None = None,
        later: Later | None = None,
        *,
        repeats: Repeats = Repeats.SAME,
    ) -> Run:
        """Return the new run, QUEUED, due now or `later`. For a repeated request, return the current state of its run.
        `repeats`: which requests with the same key repeat it.

        Raises KeyReusedError, LaneUnavailableError or RunQuotaError. Raises ScheduleError (for `at`) for a time that
        has passed or is too far ahead.
        """
        now = self.parts.clock.now()
        due = int(now) if later is None else later.due(now)
        payload = None if given is None or repeats is not Repeats.SAME else [given.payload]
        said = ["run", payload, *([] if later is None else [asdict(later)])]
        delayed = due > now + AT_ONCE_SECONDS
        wanted = self.wanted(run_request, job, said, now=now, last=due, occurrence=due, given=given, delayed=delayed)
        if later is not None:
            self._check(job, wanted.suffix, due, now)
        standing = self.put(run_request, job, wanted)
        known = None if standing is None else self.present(job, standing, now)
        if standing is not None and known == single_run(job, standing) and now > _record_expires_at(standing):
            standing, known = self.put(run_request, job, wanted, instead_of=standing), None
        if repeats is Repeats.LAST_PAYLOAD and standing is not None and given is not None:
            changes = can_change(known or single_run(job, standing), self.parts.clock.now())
            if changes and not self.parts.inputs.replace_payload(job.tenant, job.id, standing, given.payload):
                # The run may have been rescheduled, and have started.
                return self.run(job, run_request, given, later, repeats=repeats)
        if known is not None:
            return known
        asked = wanted if standing is None else standing
        run = single_run(job, asked)
        if run.due <= now + AT_ONCE_SECONDS:
            facts: Mapping[str, object] | None = {} if later is None else None
            return self.start_noted(run_request, job, asked, now=now, repeated=standing is not None, facts=facts)
        start, *checks = start_timers(job, run, self.parts.randomness.nonce)
        if standing is None:
            self.quota.count(job.tenant, run.due)
            self.parts.timers.put(start)
            if checks:
                self.parts.timers.put_all(checks)
        else:
            for timer in (start, *checks):  # the run may have been rescheduled in the meantime
                self.parts.timers.put_new(timer)
        if repeats is Repeats.LAST_PAYLOAD and standing is not None:
            # The further requests of a burst only write their payload. A single request does not need the mark.
            self.mark_sent(run_request, job, asked)
        return run

    def _check(self, job: Job, suffix: str, due: int, now: float) -> None:
        """Raise the errors of `check_time` and of the quota, unless it is a repeated request."""
        try:
            check_time(due, now)
            if due > now + AT_ONCE_SECONDS and (full := self.quota.refusal(job.tenant, due)) is not None:
                raise full
        except (ScheduleError, RunQuotaError):
            if self.parts.inputs.get(job.tenant, job.id, suffix) is None:
                raise


def can_change(run: Run, now: float) -> bool:
    """Return whether a requested run has certainly not started, on any clock, so that its payload can be changed."""
    return isinstance(run, Queued) and now < run.due - CLOCKS_DIFFER_SECONDS


def _record_expires_at(standing: Input) -> int:
    """Return when a record of the run has expired, unless it was kept longer (UTC seconds)."""
    return standing.expires_at - KEPT_LONGER_DAYS * DAY_SECONDS


def check_time(due: int, now: float) -> None:
    """Raise ScheduleError (for `at`) for a time (UTC seconds) at which no run may be requested."""
    if due > now + MAX_AHEAD_DAYS * DAY_SECONDS:
        raise ScheduleError("at", f"is too far ahead; choose a time within {MAX_AHEAD_DAYS} days, or create a job")
    if due < now - PAST_SECONDS:
        raise ScheduleError("at", "is in the past; choose a time in the future")


def start_timers(job: Job, run: Run, nonce: Callable[[], str]) -> list[Timer]:
    """Return the timer that starts a delayed run, and those that check the deadlines of its job."""
    message = message_of(job, run, nonce())
    checks = deadline_checks(message, job.deadlines, job.schedule.timezone, nonce)
    return [Timer(message, run.due), *(Timer(each, ceil(each.not_before)) for each in checks)]


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """The plan of a backfill, its estimated cost (USD), and the maximum number of its active runs (None: no limit).
    `counts`: the number of occurrences in the range, by result; None for a repeated request.
    """

    plan: BackfillPlan
    cost: float
    at_once: int | None = None
    counts: Mapping[Standing, int] | None = None


@dataclass(frozen=True, slots=True)
class BackfillStarted:
    """A started backfill. `suffix` is the suffix of its runs. `repeated`: it had already been started, so nothing was
    sent.
    """

    look: BackfillEstimate
    suffix: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Backfills(Requests):
    """Sends all runs of a backfill: runs that start soon as messages to their lane, the others as timers. The runs of a
    repeated request have the same times.
    """

    parts: Parts[ApiSettings]

    def look(self, job: Job, asked: Backfill, *, charge: Charge = free) -> BackfillEstimate:
        """Return the estimate without starting the backfill. Raises BackfillTooLargeError or AtOnceError. Raises
        ScheduleError if the job has no schedule or its schedule can no longer be compiled. `charge` counts the reads of
        records.
        """
        return self._look(job, asked, self.parts.clock.now(), charge)

    def start(
        self,
        job: Job,
        asked: Backfill,
        run_request: RunRequest,
        *,
        expected: Precondition = ANYTHING,
        charge: Charge = free,
    ) -> BackfillStarted:
        """Start the backfill. A repeated request continues the first one, even if the job was changed in between.
        Raises the errors of `look` and of `expected`, KeyReusedError, and the errors of `charge` for the number of
        runs; nothing is written then.
        """
        letter = "f" if asked.force_new_key else "b"
        said = {name: value for name, value in asdict(asked).items() if name != "at_once" or value is not None}
        standing = self.standing(run_request, letter, job, ["backfill", said])
        if standing is None:
            expected.check(job)
            now = self.parts.clock.now()
            look = self._look(job, asked, now, charge)
            charge(look.plan.count)
            last = look.plan.ends_at or int(now)
            made = self.wanted(run_request, job, ["backfill", said], now=now, last=last, letter=letter)
            chosen, at_once = look.plan.occurrences, own_limit(job, look.at_once)
            made = replace(made, backfill=replace(asked, chosen=chosen, at_once=at_once))
            standing = self.put(run_request, job, made)
        if standing is not None:
            made, look = standing, self._of_request(job, standing)
            if standing.sent:
                return BackfillStarted(look, standing.suffix, repeated=True)
        self._mark(job, made)
        span = {"from": to_iso(asked.since), "to": to_iso(asked.until)}
        facts = {"runs": look.plan.count, "suffix": made.suffix, **span}
        self.parts.jobs.note([run_request.record(ChangeAction.BACKFILLED, job, made, **facts)])
        self._send(job, look.plan, made)
        self.mark_sent(run_request, job, made)
        return BackfillStarted(look, made.suffix)

    def _mark(self, job: Job, wanted: Input) -> None:
        """Record that runs of the job may be in a wait queue from which no scheduled run starts them, so that index
        repair checks the queue. If other requests keep changing the job, nothing is recorded, and only the watch
        monitors the queue.
        """
        limited = wanted.backfill is not None and wanted.backfill.at_once is not None
        found: Job | None = job
        jobs = self.parts.jobs
        for _ in range(LOST_RACES):
            if found is None or found.waits or not (limited or (found.overlap.rule.skips and found.recurring)):
                return
            cursor, marked = jobs.get_cursor(found.tenant, found.id), replace(found, waits=True, created_by=None)
            marked = replace(marked, revision=found.revision + 1)
            if cursor is not None and jobs.change(found, cursor, marked, cursor):
                return
            found = jobs.get(job.tenant, job.id)

    def _look(self, job: Job, asked: Backfill, now: float, charge: Charge) -> BackfillEstimate:
        if not job.scheduled:
            raise ScheduleError(
                "schedule",
                "is null, so the job has no occurrences to backfill; start a run with POST /v1/jobs/{id}/run instead",
            )
        limit = limit_of(job, asked.at_once)
        made = plan_backfill(job.occurrences(), asked, now=now, limit=self.parts.settings.backfill_limit)
        charge(made.count // CHARGED_RECORDS)
        known = self._standings(job, made, now)
        kept = {at for at, standing in known.items() if asked.only.includes(standing)}
        return self._estimate(job, made.narrowed(kept), limit, Counter(known.values()))

    def _standings(self, job: Job, made: BackfillPlan, now: float) -> Mapping[int, Standing]:
        """Return the result of each occurrence of the plan. Raises BackfillTooLargeError for too many records."""
        if made.first is None or made.last is None:
            return {}
        limit = max(self.parts.settings.backfill_limit, COUNTED) * RECORDS_PER_OCCURRENCE
        records = self.parts.runs.between(
            job.tenant, job.id, made.first - 1, made.last, strongly=True, backfills=True, limit=limit + 1
        )
        if len(records) > limit:
            raise BackfillTooLargeError(limit, self.parts.settings.backfill_limit, at_least=True)
        before = self.parts.runs.page(job.tenant, job.id, limit=EARLIER_RECORDS, before=to_basic(made.first))
        records += [recorded(run) for run in before if not run.suffix][:1]  # it may cover the first occurrences
        # A job enqueues no occurrences from before its creation.
        late_before = max(now - job.missed.grace_seconds, job.created_at)
        return standings(made.occurrences, records, late_before=late_before)

    def _of_request(self, job: Job, standing: Input) -> BackfillEstimate:
        """Return the estimate of a request that was made before."""
        asked = standing.backfill
        assert asked is not None  # noqa: S101 - the fingerprint is that of a backfill
        if asked.chosen is None:  # as release 1.0 stored it: only the current schedule is known
            made = plan_backfill(
                job.occurrences(), asked, now=standing.requested_at, limit=self.parts.settings.backfill_limit
            )
        else:
            made = BackfillPlan(asked.chosen, int(standing.requested_at), asked.pace_seconds)
        return self._estimate(job, made, asked.at_once or limit_of(job, None), None)

    def _estimate(
        self, job: Job, made: BackfillPlan, limit: int | None, counts: Mapping[Standing, int] | None
    ) -> BackfillEstimate:
        locked = job.needs_lock or own_limit(job, limit) is not None
        cost = estimated_cost(made, job, locked=locked, waits_after=MAX_DELAY_SECONDS)
        return BackfillEstimate(made, cost, limit, counts)

    def _send(self, job: Job, made: BackfillPlan, asked: Input) -> None:
        """Send the runs. Messages that the lane rejects are also written as timers, which the next tick sends."""
        now = self.parts.clock.now()
        soon: list[Outgoing] = []
        later: list[RunMessage] = []
        for index, occurrence in enumerate(made.occurrences):
            run = requested_run(job, asked, occurrence, made.due(index))
            message = message_of(job, run, self.parts.randomness.nonce())
            wait = max(ceil(run.due - now), 0)
            if wait > MAX_DELAY_SECONDS:
                later.append(message)
            else:
                soon.append(Outgoing(message, wait))
        accepted = self.parts.lanes.send(soon) if soon else []
        later += [one.message for one, fine in zip(soon, accepted, strict=True) if not fine]
        self.parts.timers.put_all([Timer(message, max(message.due, int(now))) for message in later])
