"""Targets with the responses of a test. Calls are evaluated as in a worker, but no request leaves the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from duecourse.adapters.targets.http.connection import Deadline, HttpAnswer, HttpRequest
from duecourse.adapters.targets.http.http import HttpCaller, Send
from duecourse.adapters.targets.invocation import kept
from duecourse.domain.jobs.job import Completion
from duecourse.domain.maintenance.report import outcome_of, report_request
from duecourse.domain.runs.rendering import render_document, render_target
from duecourse.domain.targets.kinds import target_document, type_of
from duecourse.domain.targets.targets import (
    Failed,
    HttpTarget,
    LambdaTarget,
    OAuth,
    Outcome,
    ReportTarget,
    Returned,
    Target,
)
from duecourse.domain.targets.template import TemplateError
from duecourse.ports import Call, Clock, SecretUnknownError
from duecourse.testing.executions import execution_of


@dataclass(frozen=True, slots=True)
class TargetCall:
    """The call of a target in one attempt.

    Attributes:
        run_id: the id of the run, ``nightly.20260328T013000Z``.
        job_id: the id of the job.
        attempt: the number of the attempt, from 1.
        scheduled_at: the occurrence, in UTC.
        at: the time of the call, in UTC.
        target: the target as in the API: ``{"type": "http", "url": …}``.
        payload: the rendered payload of the job or of the request for the run.
        headers: the request headers of an HTTP target; empty for other targets.
        idempotency_key: the same in every attempt of a run.
        callback_token: the token that completes the run, if it waits for its callback.

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
    """The response of a target.

    A status of 2xx is a success, unless the job's target expects other statuses. `body` is JSON or text. Targets other
    than HTTP fail with a status of 400 or more; `code` is then the error code for the job's retry rules (an AWS error
    code, or the type of a function's exception). `log` is the end of a Lambda function's log.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = "error"
    log: str = ""


Handler = Callable[[TargetCall], Any]
"""Returns the response to a call: an Answer, a status, or the body of a success (None: no body). Exceptions are raised
by `advance`.
"""


@dataclass
class Secrets:
    """Implementation of ports.Secrets with the same secrets for every tenant."""

    known: Mapping[str, str]

    def get(self, tenant: str, name: str) -> str:
        """Return the secret of that name. Raises SecretUnknownError."""
        del tenant
        try:
            return self.known[name]
        except KeyError:
            raise SecretUnknownError(f"there is no secret named {name}; add it to the secrets of the test") from None


class Tokens:
    """Implementation of ports.TokenSigner. A token only names its subject and its audience."""

    def token(self, subject: str, audience: str) -> str:
        """Return a token that is not signed."""
        return f"token-of-{subject}-for-{audience}"


@dataclass(frozen=True, slots=True)
class _Http(HttpCaller):
    """A worker's HTTP caller, with the test's responses instead of a connection."""

    answer: Callable[[HttpRequest], Answer] = field(kw_only=True)

    def transport(self, call: Call, target: HttpTarget) -> Send:
        """Return the function that sends the request. The connector of a target is not called either."""
        del call, target
        return self.exchange

    def exchange(self, request: HttpRequest, deadline: Deadline) -> HttpAnswer:
        """Return the test's response to the request."""
        del deadline
        given = self.answer(request)
        headers = {name.lower(): value for name, value in given.headers.items()}
        json = not isinstance(given.body, str)
        body = b"" if given.body is None else orjson.dumps(given.body) if json else given.body.encode()
        kind = headers.get("content-type", "application/json" if json else "text/plain")
        return HttpAnswer(given.status, body, kind, headers.get("retry-after"), headers.get("x-duecourse-retry", ""))

    def token_answer(self, auth: OAuth, secret: str, deadline: Deadline) -> HttpAnswer:
        """Return a token without a request to the authorization server."""
        del secret, deadline
        token = {"access_token": f"token-of-{auth.client_id}", "token_type": "Bearer"}
        return HttpAnswer(200, orjson.dumps(token), "application/json", None, "")


@dataclass
class Targets:
    """Implementation of ports.Caller for all targets. The responses of a job come first, then
    `handler`, then a success.
    """

    clock: Clock
    secrets: Secrets
    handler: Handler | None = None
    calls: list[TargetCall] = field(default_factory=list)
    broken: Exception | None = None
    """The exception of a handler, which the worker records as a failed attempt."""
    reports: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Makes reports, as the audit function does. A report is not a call of a target, so it is not in `calls`."""
    _once: dict[str, list[Answer]] = field(default_factory=dict)
    _always: dict[str, Answer] = field(default_factory=dict)

    def answer(self, job_id: str, answer: Answer, times: int | None) -> None:
        """Set the response of a job's target. With `times`, the response applies to that number of calls. Responses
        with `times` are used first, in the order in which they were set; then the response without `times` is used.
        """
        if times is None:
            self._always[job_id] = answer
        else:
            self._once.setdefault(job_id, []).extend([answer] * times)

    def call(self, call: Call) -> Outcome:
        """Call the job's target. Return the outcome that follows from the response set by the test."""
        target = call.job.target
        try:
            return self._called(call, target)
        except TemplateError as problem:
            text = f"{type_of(target)} target was not called: {problem}"
            return Failed(text, retryable=False, code=problem.code)

    def _called(self, call: Call, target: Target) -> Outcome:
        if isinstance(target, HttpTarget):
            http = _Http(
                self.clock,
                private=True,
                secrets=self.secrets,
                signer=Tokens(),
                answer=lambda request: self._answered(call, dict(request.headers)),
            )
            return http.call(call, target)
        if isinstance(target, ReportTarget) and self.reports is not None and not self._answers(call):
            request = report_request(call.run, call.job, target, call.timeout_seconds)
            return outcome_of(_json(self.reports(request.document())))
        render_target(target, call.values)
        given = self._answered(call, {})
        log = given.log or None if isinstance(target, LambdaTarget) and target.log else None
        if given.status < 400:
            started = execution_of(call) if call.job.completion is Completion.END else None
            return Returned(kept(given.status, orjson.dumps(given.body), json=True), started, log)
        said = f"{type_of(target)} target failed: {given.body if given.body is not None else given.status}"
        return Failed(said, code=given.code, log=log)

    def _answers(self, call: Call) -> bool:
        """Return whether the test has set a response for the job."""
        return bool(self._once.get(call.run.job_id)) or call.run.job_id in self._always

    def _answered(self, call: Call, headers: Mapping[str, str]) -> Answer:
        run = call.run
        made = TargetCall(
            run_id=run.run_id,
            job_id=run.job_id,
            attempt=run.attempt,
            scheduled_at=datetime.fromtimestamp(run.occurrence, UTC),
            at=datetime.fromtimestamp(self.clock.now(), UTC),
            target=_json(target_document(call.job.target)),
            payload=_json(render_document(call.job.payload, call.values)),
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
    """Return a copy of a value as JSON, which the test may change."""
    return orjson.loads(orjson.dumps(value))
