"""Manual runs: immediate, delayed, and for past occurrences.

A request has an author and an idempotency key. Its run has no record until it starts.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Any

import orjson

from duecourse.domain.ids import RunIdentity, to_basic
from duecourse.domain.instants import DAY_SECONDS, to_iso
from duecourse.domain.jobs.backfill import (
    COUNTED,
    Backfill,
    BackfillPlan,
    BackfillTooLargeError,
    Only,
    Standing,
    estimated_cost,
    limit_of,
    own_limit,
    plan_backfill,
)
from duecourse.domain.jobs.document import ChangeAction, ChangeRecord, asked
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.coverage import recorded, standings
from duecourse.domain.runs.states import Queued, Run
from duecourse.domain.tenants.rate import Charge, free
from duecourse.domain.tenants.seats import Starting, has_seat
from duecourse.limits import LOST_RACES, MAX_DELAY_SECONDS, MESSAGE_RETENTION_DAYS
from duecourse.messages import RunMessage, deadline_checks
from duecourse.ports import Clock, Input, Lanes, Outgoing, Randomness, Timer
from duecourse.usecases.dispatch.claim import checks_of
from duecourse.usecases.jobs.job_errors import ANYTHING, JobUnknownError, KeyReusedError, Precondition
from duecourse.usecases.jobs.view import AT_ONCE_SECONDS
from duecourse.usecases.tenants import DelayedRunQuota
from duecourse_schedules import ScheduleError, compile_schedule
from duecourse_schedules.instant import parse_moment

if TYPE_CHECKING:
    from duecourse.stores.inputs import Inputs
    from duecourse.stores.jobs import JobStore
    from duecourse.stores.runs import RunStore
    from duecourse.stores.timers import Timers

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
    """The run's lane did not accept the message, so the request has no effect except for the runs in `started`."""

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

    def wanted(self, letter: str, job: Job, nonce: str, said: object, *, now: float, until: int, **more: Any) -> Input:
        """Return the request, made at `now`, that is kept for its runs until `until` (UTC seconds). `more` has further
        fields. `said` is plain JSON that distinguishes a repeated request from a different request with the same key.
        """
        return Input(
            suffix=self.suffix(letter, job, nonce),
            requested_at=now,
            requested_by=self.by[:MAX_BY],
            correlation_id=self.correlation_id,
            fingerprint=self._fingerprint(said),
            generation=job.generation,
            expires_at=until,
            **more,
        )

    def put(self, inputs: Inputs, job: Job, wanted: Input) -> Input | None:
        """Write the request. Return the first request if this one repeats it. Raises KeyReusedError."""
        return self._repeated(inputs.put(job.tenant, job.id, wanted), wanted.fingerprint)

    def standing(self, inputs: Inputs, letter: str, job: Job, said: object) -> Input | None:
        """Return the first request if this one repeats it; see `wanted`. Raises KeyReusedError."""
        found = None if self.key is None else inputs.get(job.tenant, job.id, self.suffix(letter, job, ""))
        return self._repeated(found, self._fingerprint(said))

    def _fingerprint(self, said: object) -> str:
        return sha256(orjson.dumps([self.key, said], option=orjson.OPT_SORT_KEYS)).hexdigest()

    def _repeated(self, found: Input | None, fingerprint: str) -> Input | None:
        if found is not None and found.fingerprint != fingerprint:
            raise KeyReusedError(self.key)
        return found

    def send(
        self, lanes: Lanes, inputs: Inputs, job: Job, asked: Input, messages: Sequence[Outgoing]
    ) -> list[RunMessage]:
        """Send the message of the only run of the request, followed by checks of its deadlines. Return the checks that
        were not accepted. Raises LaneUnavailableError.
        """
        accepted, *fine = lanes.send(messages)
        if not accepted:
            raise LaneUnavailableError(str(messages[0].message.name))
        if self.key is not None:
            inputs.mark_sent(job.tenant, job.id, asked.suffix)
        return [check.message for check, sent in zip(messages[1:], fine, strict=True) if not sent]


def requested_run(job: Job, asked: Input, occurrence: int, due: int | None = None) -> Run:
    """Return a requested run without a record. It is due at its occurrence unless `due` is set."""
    run = queued_run(job, occurrence, occurrence if due is None else due)
    identity = replace(
        run.identity,
        suffix=asked.suffix,
        own_payload=asked.own_payload,
        requested_by=asked.requested_by,
        correlation_id=asked.correlation_id,
        at_once=None if asked.backfill is None else asked.backfill.at_once,
    )
    return replace(run, identity=identity)


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
class Manual:
    """Writes the request with its author, then sends a message, or writes a timer for a run that is due later. After a
    crash in between, the caller repeats the request; with an idempotency key, the result is the same run.
    """

    jobs: JobStore
    runs: RunStore
    inputs: Inputs
    lanes: Lanes
    timers: Timers
    clock: Clock
    randomness: Randomness
    quota: DelayedRunQuota
    run_retention_days: int

    def job(self, tenant: str, job_id: str, expected: Precondition = ANYTHING) -> Job:
        """Return the job to be run. Raises JobUnknownError or JobVersionError."""
        job = self.jobs.get(tenant, job_id)
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
        debounced: bool = False,
    ) -> Run:
        """Return the new run, QUEUED, due now or `later`. For a repeated request, return the current state of its run.
        `debounced`: a request with the same key repeats the first one, whatever its payload is.

        Raises KeyReusedError, LaneUnavailableError or RunQuotaError. Raises ScheduleError (for `at`) for a time that
        has passed or is too far ahead.
        """
        now = self.clock.now()
        due = int(now) if later is None else later.due(now)
        wanted = run_request.wanted(
            "m",
            job,
            self.randomness.nonce(),
            [
                "run",
                None if given is None or debounced else [given.payload],
                *([] if later is None else [asdict(later)]),
            ],
            now=now,
            until=due + (self.run_retention_days + KEPT_LONGER_DAYS) * DAY_SECONDS,
            occurrence=due,
            own_payload=given is not None,
            payload=None if given is None else given.payload,
        )
        if later is not None:
            self._check(job, wanted.suffix, due, now)
        standing = run_request.put(self.inputs, job, wanted)
        asked = wanted if standing is None else standing
        run = requested_run(job, asked, asked.occurrence or int(asked.requested_at))
        if standing is not None:
            record = self.runs.get(job.tenant, job.id, run.name.local)
            # Its record may have expired. Until then, a second message is dropped.
            if record is not None or standing.sent or now > run.due + MESSAGE_RETENTION_DAYS * DAY_SECONDS:
                return record or run
        message = message_of(job, run, self.randomness.nonce())
        if run.due > now + AT_ONCE_SECONDS:
            if standing is None:
                self.quota.count(job.tenant, run.due)
            self.timers.put(Timer(message, run.due))
            self._put_checks([*deadline_checks(message, job.deadlines, job.schedule.timezone, self.randomness.nonce)])
            if debounced and standing is not None:
                # The further requests of a burst write nothing. A single request does not need the mark.
                self.inputs.mark_sent(job.tenant, job.id, asked.suffix)
            return run
        if later is None:
            self.jobs.note([run_request.record(ChangeAction.RUN_NOW, job, asked, run_id=run.run_id)])
        start = Outgoing(message, max(ceil(run.due - now), 0))
        zone, nonce = job.schedule.timezone, self.randomness.nonce
        messages = [start, *checks_of([start], job.deadlines, zone, now=now, nonce=nonce)]
        self._put_checks(run_request.send(self.lanes, self.inputs, job, asked, messages))
        return run

    def _put_checks(self, checks: Sequence[RunMessage]) -> None:
        """Write the timers of messages that check deadlines."""
        if checks:
            self.timers.put_all([Timer(each, ceil(each.not_before)) for each in checks])

    def _check(self, job: Job, suffix: str, due: int, now: float) -> None:
        """Raise ScheduleError or RunQuotaError for a time that is not allowed in a new request."""
        if due > now + MAX_AHEAD_DAYS * DAY_SECONDS:
            raise ScheduleError("at", f"is too far ahead; choose a time within {MAX_AHEAD_DAYS} days, or create a job")
        problem: Exception | None = None
        if due < now - PAST_SECONDS:
            problem = ScheduleError("at", "is in the past; choose a time in the future")
        elif due > now + AT_ONCE_SECONDS:
            problem = self.quota.refusal(job.tenant, due)
        if problem is not None and self.inputs.get(job.tenant, job.id, suffix) is None:  # else it is a repeated request
            raise problem


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
class Backfills:
    """Writes the request with its author, then sends all runs: runs that start soon as messages to their lane, the
    others as timers. After a crash in between, the caller repeats the request; with an idempotency key, the result is
    the same runs at the same times.
    """

    jobs: JobStore
    runs: RunStore
    inputs: Inputs
    lanes: Lanes
    timers: Timers
    clock: Clock
    randomness: Randomness
    limit: int
    run_retention_days: int

    def look(self, job: Job, asked: Backfill, *, charge: Charge = free) -> BackfillEstimate:
        """Return the estimate without starting the backfill. Raises BackfillTooLargeError or AtOnceError. Raises
        ScheduleError if the job has no schedule or its schedule can no longer be compiled. `charge` counts the reads of
        records.
        """
        return self._look(job, asked, self.clock.now(), charge)

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
        standing = run_request.standing(self.inputs, letter, job, ["backfill", said])
        if standing is None:
            expected.check(job)
            now = self.clock.now()
            look = self._look(job, asked, now, charge)
            charge(look.plan.count)
            chosen = None if asked.only is Only.ALL else look.plan.occurrences
            kept = (look.plan.ends_at or int(now)) + (self.run_retention_days + KEPT_LONGER_DAYS) * DAY_SECONDS
            backfill = replace(asked, chosen=chosen, at_once=own_limit(job, look.at_once))
            nonce = self.randomness.nonce()
            made = run_request.wanted(letter, job, nonce, ["backfill", said], now=now, until=kept, backfill=backfill)
            standing = run_request.put(self.inputs, job, made)
        if standing is not None:
            made, look = standing, self._of_request(job, standing)
            if standing.sent:
                return BackfillStarted(look, standing.suffix, repeated=True)
        self._mark(job, made)
        span = {"from": to_iso(asked.since), "to": to_iso(asked.until)}
        self.jobs.note([run_request.record(ChangeAction.BACKFILLED, job, made, runs=look.plan.count, **span)])
        self._send(job, look.plan, made)
        if run_request.key is not None:
            self.inputs.mark_sent(job.tenant, job.id, made.suffix)
        return BackfillStarted(look, made.suffix)

    def _mark(self, job: Job, wanted: Input) -> None:
        """Record that runs of the job may be in a wait queue from which no scheduled run starts them, so that index
        repair checks the queue. If other requests keep changing the job, nothing is recorded, and only the watch
        monitors the queue.
        """
        limited = wanted.backfill is not None and wanted.backfill.at_once is not None
        found: Job | None = job
        for _ in range(LOST_RACES):
            if found is None or found.waits or not (limited or (found.overlap.rule.skips and found.recurring)):
                return
            cursor, marked = self.jobs.get_cursor(found.tenant, found.id), replace(found, waits=True, created_by=None)
            marked = replace(marked, revision=found.revision + 1)
            if cursor is not None and self.jobs.change(found, cursor, marked, cursor):
                return
            found = self.jobs.get(job.tenant, job.id)

    def _look(self, job: Job, asked: Backfill, now: float, charge: Charge) -> BackfillEstimate:
        if not job.scheduled:
            raise ScheduleError(
                "schedule",
                "is null, so the job has no occurrences to backfill; start a run with POST /v1/jobs/{id}/run instead",
            )
        limit = limit_of(job, asked.at_once)
        made = plan_backfill(job.occurrences(), asked, now=now, limit=self.limit)
        charge(made.count // CHARGED_RECORDS)
        known = self._standings(job, made, now)
        kept = {at for at, standing in known.items() if asked.only.includes(standing)}
        return self._estimate(job, made.narrowed(kept), limit, Counter(known.values()))

    def _standings(self, job: Job, made: BackfillPlan, now: float) -> Mapping[int, Standing]:
        """Return the result of each occurrence of the plan. Raises BackfillTooLargeError for too many records."""
        if made.first is None or made.last is None:
            return {}
        limit = max(self.limit, COUNTED) * RECORDS_PER_OCCURRENCE
        records = self.runs.between(
            job.tenant, job.id, made.first - 1, made.last, strongly=True, backfills=True, limit=limit + 1
        )
        if len(records) > limit:
            raise BackfillTooLargeError(limit, self.limit, at_least=True)
        before = self.runs.page(job.tenant, job.id, limit=EARLIER_RECORDS, before=to_basic(made.first))
        records += [recorded(run) for run in before if not run.suffix][:1]  # it may cover the first occurrences
        # A job enqueues no occurrences from before its creation.
        late_before = max(now - job.missed.grace_seconds, job.created_at)
        return standings(made.occurrences, records, late_before=late_before)

    def _of_request(self, job: Job, standing: Input) -> BackfillEstimate:
        """Return the estimate of a request that was made before."""
        asked = standing.backfill
        assert asked is not None  # noqa: S101 - the fingerprint is that of a backfill
        if asked.chosen is None:
            made = plan_backfill(job.occurrences(), asked, now=standing.requested_at, limit=self.limit)
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
        now = self.clock.now()
        soon: list[Outgoing] = []
        later: list[RunMessage] = []
        for index, occurrence in enumerate(made.occurrences):
            run = requested_run(job, asked, occurrence, made.due(index))
            message = message_of(job, run, self.randomness.nonce())
            wait = max(ceil(run.due - now), 0)
            if wait > MAX_DELAY_SECONDS:
                later.append(message)
            else:
                soon.append(Outgoing(message, wait))
        accepted = self.lanes.send(soon) if soon else []
        later += [one.message for one, fine in zip(soon, accepted, strict=True) if not fine]
        self.timers.put_all([Timer(message, max(message.due, int(now))) for message in later])
