"""A scheduler for an application's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from types import TracebackType
from typing import Any, Self

from duecourse.client import Client
from duecourse.domain.targets.targets import WorkflowTarget
from duecourse.ports import OutboundEvent
from duecourse.testing.clock import SettableClock
from duecourse.testing.memory.tables import MemoryTables
from duecourse.testing.stage import Stage, settings_of_a_test
from duecourse.testing.targets import Answer, Handler, Secrets, TargetCall, Targets
from duecourse.testing.transport import URL, ApiTransport

EPOCH = "2026-01-01T00:00:00Z"


class Scheduler:
    """A stage of Duecourse in this process, with a clock that changes only when it is moved.

    Attributes:
        client: the real client, over the real API.
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
        """It is `now`, an aware datetime or its ISO-8601 text. `secrets` are those that jobs may name,
        `allowed_actions` the API calls (`ecs:UpdateService`) that targets of kind `aws` may make.

        Raises ValueError for an instant without a zone.
        """
        clock = SettableClock(_instant(now))
        self._targets = Targets(clock, Secrets({} if secrets is None else dict(secrets)))
        self._tables = MemoryTables()
        self._stage = Stage(clock, self._targets, settings_of_a_test(tuple(allowed_actions)), self._tables)
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
        """The present instant, in UTC."""
        return datetime.fromtimestamp(self._stage.clock.now(), UTC)

    @property
    def calls(self) -> Sequence[TargetCall]:
        """Every call of a target so far, in order."""
        return tuple(self._targets.calls)

    @property
    def events(self) -> Sequence[OutboundEvent]:
        """What jobs with `events` have published so far, in order."""
        return tuple(self._stage.bus.events)

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> list[TargetCall]:
        """Let time pass; the calls that were made meanwhile. Nothing passes without arguments, and what is due now is
        done.
        """
        return self.advance_to(self.now + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds))

    def advance_to(self, instant: datetime | str) -> list[TargetCall]:
        """Let time pass to an instant; the calls that were made meanwhile, those of that instant included.

        Raises ValueError for an instant that is in the past or has no time zone, and every exception of a handler.
        """
        until = _instant(instant)
        if until < self._stage.clock.now():
            raise ValueError(f"{instant} is in the past; the current time is {self.now.isoformat()}")
        seen = len(self._targets.calls)
        self._stage.until(until)
        return self._targets.calls[seen:]

    def answer(
        self,
        job_id: str,
        *,
        status: int = 200,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        code: str = "error",
        times: int | None = None,
    ) -> None:
        """Let a job's target answer so (see Answer): to the next `times` calls, or without `times` to all calls after
        those. Several with `times` follow one another.

        Raises ValueError if there is no such job, or if it is a workflow, whose jobs are called in its place.
        """
        self._check_called(job_id)
        self._targets.answer(job_id, Answer(status, body, headers or {}, code), times)

    def _check_called(self, job_id: str) -> None:
        jobs = {known: job for (_, known), job in self._tables.items.jobs.copy().items()}
        if (job := jobs.get(job_id)) is None:
            near = get_close_matches(job_id, jobs, n=1)
            hint = f"did you mean {near[0]}?" if near else "create the job before its responses"
            raise ValueError(f"there is no job {job_id}; {hint}")
        is_workflow = isinstance(job.target, WorkflowTarget)
        if is_workflow:
            raise ValueError(f"{job_id} is a workflow, which has no target; set the responses of its steps")

    def target(self, handler: Handler) -> Handler:
        """Let a function answer all calls that `answer` says nothing of; may be used as a decorator.

        It returns an Answer, a status, or the body of a success.
        """
        self._targets.handler = handler
        return handler


def _instant(given: datetime | str) -> float:
    instant = datetime.fromisoformat(given) if isinstance(given, str) else given
    if instant.utcoffset() is None:
        raise ValueError(f"{given!r} has no time zone; write 2026-01-31T09:00:00Z, or pass a datetime with tzinfo=UTC")
    return instant.timestamp()
