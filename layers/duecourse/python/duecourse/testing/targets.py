"""Targets with the responses of a test. Calls are evaluated as by a worker, but no request leaves the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from duecourse.adapters.targets.http.connection import Deadline
from duecourse.adapters.targets.http.http import HttpAnswer, HttpCaller, HttpRequest
from duecourse.adapters.targets.invocation import call_values, kept
from duecourse.domain.runs.rendering import render_document
from duecourse.domain.targets.kinds import target_document, type_of
from duecourse.domain.targets.targets import Failed, HttpTarget, Outcome, Returned
from duecourse.ports import Call, Clock, SecretUnknownError


@dataclass(frozen=True, slots=True)
class TargetCall:
    """One attempt's call of a target.

    Attributes:
        run_id: of its run, ``nightly.20260328T013000Z``.
        job_id: of its job.
        attempt: counts from 1.
        scheduled_at: the occurrence, in UTC.
        at: when the call was made, in UTC.
        target: as the API shows it: ``{"type": "http", "url": …}``.
        payload: the job's, or that of its request, with its placeholders filled in.
        headers: those of the request, of an HTTP target; none of the other kinds.
        idempotency_key: the same on every attempt of a run.
        token: completes the run, if it waits for its callback.

    """

    run_id: str
    job_id: str
    attempt: int
    scheduled_at: datetime
    at: datetime
    target: Mapping[str, Any]
    payload: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str = ""
    callback_token: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a target answers.

    A status of 2xx is a success, unless the job's target expects others; `body` is JSON, or text. Targets that are not
    HTTP fail with any status of 400 and more, `code` is the kind of their failure (an AWS error code, the type of a
    function's exception) for the job's retry rules.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = "error"


Handler = Callable[[TargetCall], Any]
"""Answers a call by an Answer, a status, or the body of a success (None: no body). What it raises, `advance` raises."""


@dataclass
class Secrets:
    """ports.Secrets, of every tenant."""

    known: Mapping[str, str]

    def get(self, tenant: str, name: str) -> str:
        """See Secrets."""
        del tenant
        try:
            return self.known[name]
        except KeyError:
            raise SecretUnknownError(name) from None


@dataclass(frozen=True, slots=True)
class _Http(HttpCaller):
    """A worker's own, but for the way to the target."""

    answer: Callable[[HttpRequest], Answer] = field(kw_only=True)

    def exchange(self, request: HttpRequest, deadline: Deadline) -> HttpAnswer:
        """See HttpCaller."""
        del deadline
        given = self.answer(request)
        headers = {name.lower(): value for name, value in given.headers.items()}
        json = not isinstance(given.body, str)
        body = b"" if given.body is None else orjson.dumps(given.body) if json else given.body.encode()
        kind = headers.get("content-type", "application/json" if json else "text/plain")
        return HttpAnswer(given.status, body, kind, headers.get("retry-after"), headers.get("x-duecourse-retry", ""))


@dataclass
class Targets:
    """ports.Caller: every target. Answers that were given for a job come first, then `handler`, then success."""

    clock: Clock
    secrets: Secrets
    handler: Handler | None = None
    calls: list[TargetCall] = field(default_factory=list)
    broken: Exception | None = None
    """What a handler has raised; a worker takes that for a failed attempt."""
    _once: dict[str, list[Answer]] = field(default_factory=dict)
    _always: dict[str, Answer] = field(default_factory=dict)

    def answer(self, job_id: str, answer: Answer, times: int | None) -> None:
        """Let a job's next calls be answered so: `times` of them, after those that were given before with `times`; or
        all that follow these.
        """
        if times is None:
            self._always[job_id] = answer
        else:
            self._once.setdefault(job_id, []).extend([answer] * times)

    def call(self, call: Call) -> Outcome:
        """See Caller."""
        target = call.job.target
        if isinstance(target, HttpTarget):
            http = _Http(
                self.clock,
                private=True,
                secrets=self.secrets,
                answer=lambda request: self._answered(call, dict(request.headers)),
            )
            return http.call(call, target)
        given = self._answered(call, {})
        if given.status < 400:
            return Returned(kept(given.status, orjson.dumps(given.body), json=True))
        said = f"{type_of(target)} target failed: {given.body if given.body is not None else given.status}"
        return Failed(said, code=given.code)

    def _answered(self, call: Call, headers: Mapping[str, str]) -> Answer:
        run = call.run
        made = TargetCall(
            run_id=str(run.name),
            job_id=run.job_id,
            attempt=run.attempt,
            scheduled_at=datetime.fromtimestamp(run.occurrence, UTC),
            at=datetime.fromtimestamp(self.clock.now(), UTC),
            target=_json(target_document(call.job.target)),
            payload=_json(render_document(call.job.payload, call_values(call))),
            headers=headers,
            idempotency_key=call.idempotency_key,
            callback_token=call.callback_token,
        )
        self.calls.append(made)
        if once := self._once.get(run.job_id):
            return once.pop(0)
        if run.job_id in self._always:
            return self._always[run.job_id]
        try:
            said = None if self.handler is None else self.handler(made)
        except Exception as problem:
            self.broken = problem
            raise
        if isinstance(said, Answer):
            return said
        return Answer(said) if isinstance(said, int) and not isinstance(said, bool) else Answer(body=said)


def _json(value: Any) -> Any:
    """A copy as JSON has it, which the test may change."""
    return orjson.loads(orjson.dumps(value))
