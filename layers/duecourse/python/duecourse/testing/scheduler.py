"""A scheduler for the tests of an application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from types import TracebackType
from typing import Any, Self

from duecourse.api.identity import DEFAULT_TENANT
from duecourse.client import Client
from duecourse.domain.ids import parse_run_id
from duecourse.domain.jobs.cursor import Row
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.executions import execution_of
from duecourse.domain.runs.states import Waiting
from duecourse.domain.targets.targets import Failed, Returned, WorkflowTarget
from duecourse.ports import OutboundEvent
from duecourse.testing.clock import SettableClock
from duecourse.testing.stage import Stage, settings_of_a_test
from duecourse.testing.targets import Answer, Handler, Secrets, TargetCall, Targets
from duecourse.testing.transport import URL, ApiTransport

EPOCH = "2026-01-01T00:00:00Z"


class Scheduler:
    """A Duecourse stage in this process, with a clock that changes only when a test advances it.

    Attributes:
        client: the regular client, connected to the API of this stage.
        url, transport: for other clients: `AsyncClient(scheduler.url, transport=scheduler.transport)`, or httpx.

    """

    url = URL

    def __init__(
        self,
        now: datetime | str = EPOCH,
        *,
        secrets: Mapping[str, str] | None = None,
        allowed_actions: Sequence[str] = (),
    ) -> None:
        """`now` is the initial time: an aware datetime or its ISO 8601 text. `secrets` are the secrets that jobs may
        reference. `allowed_actions` are the API calls (`ecs:UpdateService`) that `aws` targets may make.

        Raises ValueError for an instant without a time zone.
        """
        clock = SettableClock(_instant(now))
        self._targets = Targets(clock, Secrets({} if secrets is None else dict(secrets)))
        self._stage = Stage(clock, self._targets, settings_of_a_test(tuple(allowed_actions)))
        self.transport = ApiTransport(self._stage.api)
        self.client = Client(self.url, transport=self.transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()

    @property
    def now(self) -> datetime:
        """The current instant of the clock, in UTC."""
        return datetime.fromtimestamp(self._stage.clock.now(), UTC)

    @property
    def calls(self) -> Sequence[TargetCall]:
        """All calls of targets so far, in order."""
        return tuple(self._targets.calls)

    @property
    def events(self) -> Sequence[OutboundEvent]:
        """All events that jobs with `events` have published so far, in order."""
        return tuple(self._stage.bus.events)

    @property
    def pings(self) -> Sequence[str]:
        """All addresses that successful runs of jobs with `ping_url` have pinged so far, in order."""
        return tuple(self._stage.pinger.urls)

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> list[TargetCall]:
        """Advance the clock, do everything that becomes due, and return the calls that were made. Without arguments,
        the clock does not change, and everything that is due now is done.
        """
        return self.advance_to(self.now + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds))

    def advance_to(self, instant: datetime | str) -> list[TargetCall]:
        """Advance the clock to an instant and return the calls that were made, including those at that instant.

        Raises ValueError for an instant that is in the past or has no time zone, and every exception of a handler.
        """
        until = self._later(instant)
        seen = len(self._targets.calls)
        self._stage.until(until)
        return self._targets.calls[seen:]

    def end(self, run_id: str, result: Any = None, *, error: str | None = None, code: str = "error") -> None:
        """End the work for which a run of a job with `completion: end` waits: with a result, or with an error and its
        code.

        Raises ValueError if the run does not wait for the end of its work.
        """
        name = parse_run_id(run_id)
        run = self._stage.run_store.get(DEFAULT_TENANT, name.job_id, name.local)
        execution = execution_of(run) if isinstance(run, Waiting) else None
        if execution is None:
            state = "does not exist" if run is None else f"is {run.state}"
            raise ValueError(f"{run_id} {state}; end the work of a run that is WAITING and has completion: end")
        outcome = Returned(result) if error is None else Failed(error, code=code)
        self._stage.executions.outcomes[execution.id] = outcome
        self._stage.report_end(execution)
        self._stage.work()

    def log(self, run_id: str, attempt: int | None = None) -> str:
        """Return the log of a run, or of one attempt. Raises NotFoundError for an unknown run."""
        texts: list[str] = []
        after, more = None, True
        while more:
            page = self.client.get_run_log(run_id, attempt=attempt, after=after)
            texts += [each.text for each in page.texts]
            after, more = page.after, page.more
        return "".join(texts)

    def outage_until(self, instant: datetime | str) -> None:
        """Advance the clock to an instant while Duecourse does nothing, as in an outage of its region: no rounds, no
        calls, no retries. The next `advance` does what became due in the meantime.

        Raises ValueError for an instant that is in the past or has no time zone.
        """
        self._stage.clock.set(self._later(instant))

    def occurrences(self, job_id: str, until: datetime | str, most: int = 10_000) -> list[datetime]:
        """Return the occurrences of a job's schedule after now and before an instant, in UTC: the first `most` of them.

        Raises ValueError if there is no such job, or for an instant that is in the past or has no time zone.
        """
        job, end = self._job(job_id), self._later(until)
        if job.schedule.expression == "":
            return []
        row = Row.after(job.occurrences(), int(self._stage.clock.now()), job.max_runs)
        found: list[datetime] = []
        while (at := row.at) is not None and at < end and len(found) < most:
            found.append(datetime.fromtimestamp(at, UTC))
            row.step()
        return found

    def _later(self, instant: datetime | str) -> float:
        """Return an instant as UTC seconds. Raises ValueError if it is in the past."""
        until = _instant(instant)
        if until < self._stage.clock.now():
            raise ValueError(f"{instant} is in the past; the current time is {self.now.isoformat()}")
        return until

    def answer(
        self,
        job_id: str,
        *,
        status: int = 200,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        code: str = "error",
        times: int | None = None,
        log: str = "",
    ) -> None:
        """Set the response of a job's target (see Answer). With `times`, it applies to that number of calls, after
        earlier responses with `times`. Without `times`, it applies to all calls after these.

        Raises ValueError if there is no such job, or if it is a workflow: a workflow has no target, only its steps
        have.
        """
        self._check_called(job_id)
        self._targets.answer(job_id, Answer(status, body, headers or {}, code, log), times)

    def _job(self, job_id: str) -> Job:
        """Return a job. Raises ValueError if there is none with this id."""
        store = self._stage.jobs
        if (job := store.get(DEFAULT_TENANT, job_id)) is None:
            ids = store.page_ids(DEFAULT_TENANT, None, limit=1000, after=None).items
            near = get_close_matches(job_id, ids, n=1)
            hint = f"did you mean {near[0]}?" if near else "create the job before its responses"
            raise ValueError(f"there is no job {job_id}; {hint}")
        return job

    def _check_called(self, job_id: str) -> None:
        is_workflow = isinstance(self._job(job_id).target, WorkflowTarget)
        if is_workflow:
            raise ValueError(f"{job_id} is a workflow, which has no target; set the responses of its steps")

    def target(self, handler: Handler) -> Handler:
        """Set the function that responds to all calls without a response from `answer`. It can be used as a decorator.

        The function returns an Answer, a status, or the body of a successful response.
        """
        self._targets.handler = handler
        return handler


def _instant(given: datetime | str) -> float:
    instant = datetime.fromisoformat(given) if isinstance(given, str) else given
    if instant.utcoffset() is None:
        raise ValueError(f"{given!r} has no time zone; write 2026-01-31T09:00:00Z, or pass a datetime with tzinfo=UTC")
    return instant.timestamp()
