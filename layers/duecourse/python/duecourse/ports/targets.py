"""The interfaces that a call needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.states import Run
from duecourse.domain.targets.targets import CallableTarget, Execution, Outcome


@dataclass(frozen=True, slots=True)
class Call:
    """The call of one attempt. `timeout_seconds` is the job's timeout, or less if the worker has less time left.
    `callback_token` is the attempt's callback token, if the run waits for a callback. `values` contains the values of
    the job's templates (domain.runs.rendering.call_values).
    """

    job: Job
    run: Run
    idempotency_key: str
    timeout_seconds: float
    callback_token: str | None = field(default=None, repr=False)  # not shown: it can complete the run
    values: Mapping[str, str] = field(default_factory=dict, repr=False)


class Caller(Protocol):
    """Calls targets."""

    def call(self, call: Call) -> Outcome:
        """Call the target and derive the outcome from its response. Never raises for an error of the target. Always
        ends within the timeout (plus about a second).
        """


class ExecutionUnavailableError(Exception):
    """An execution could not be read or stopped. The message is the reason."""


class Executions(Protocol):
    """The services in which calls start work that ends later."""

    def end_of(self, execution: Execution, run: Run) -> Outcome | None:
        """Return how the execution of a run ended; None while it is active. Raises ExecutionUnavailableError."""

    def stop(self, execution: Execution, run: Run) -> None:
        """Request the end of a run's execution. It may have ended already. Raises ExecutionUnavailableError."""


class Pinger(Protocol):
    """Pings external monitors."""

    def ping(self, url: str, timeout: float) -> str | None:
        """Request the address within `timeout` seconds. Return None if the response was 2xx, otherwise the problem.
        Never raises.
        """


class Secrets(Protocol):
    """A tenant's secrets."""

    def get(self, tenant: str, name: str) -> str:
        """Return the secret, from a short-lived cache. Raises SecretUnknownError or SecretsUnavailableError."""


class TokenSigner(Protocol):
    """The stage as an issuer of OIDC tokens."""

    def token(self, subject: str, audience: str) -> str:
        """Return a new token for the subject (domain.targets.oidc). Raises TokensUnavailableError."""


class TokensUnavailableError(Exception):
    """A token was not signed. A later attempt may succeed."""


class PublicKeys(Protocol):
    """The keys with which receivers verify the stage's OIDC tokens."""

    def public_keys(self) -> Sequence[tuple[str, bytes]]:
        """Return the id and the public key (DER) of each key. Raises AwsError."""


class SecretUnknownError(Exception):
    """There is no such secret."""


class SecretsUnavailableError(Exception):
    """The store of secrets did not respond. A later attempt may succeed."""


@dataclass(frozen=True, slots=True)
class RegisteredTask:
    """A target that the operator registered under a name, and defaults for fields that a job leaves out."""

    target: CallableTarget
    defaults: dict[str, Any]


class TasksUnavailableError(Exception):
    """The store of tasks did not respond. A later attempt may succeed."""


class Tasks(Protocol):
    """The stage's registered tasks: named targets."""

    def get(self, name: str) -> RegisteredTask | None:
        """Return the task (from a short-lived cache); None if there is none. Raises TasksUnavailableError."""


LINK_SECONDS = 300
"""How long the link to a result is valid."""


class ResultRefusedError(Exception):
    """A tenant's bucket rejected a result. The message is the reason, for the tenant."""


class Results(Protocol):
    """The store of large results. A result is kept as long as its run."""

    def put(self, key: str, document: bytes, bucket: str | None = None) -> None:
        """Write a result (JSON), by default to the stage's own bucket. Raises if it was not accepted:
        ResultRefusedError if a given `bucket` rejected it.
        """

    def get(self, key: str) -> bytes | None:
        """Return a result from the stage's own bucket; None if it does not exist any longer. Raises AwsError."""

    def link(self, key: str) -> str:
        """Return a link with which anyone can read the result for LINK_SECONDS."""
