"""Secrets of tenants in SSM Parameter Store or in Secrets Manager. Each tenant has a separate path."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from duecourse.ports import AwsError, Clock, SecretsUnavailableError, SecretUnknownError, ServiceError

KNOWN_SECONDS = 60
"""How long a secret is cached, in seconds. A rotated secret is used within a minute."""

UNKNOWN_SECONDS = 5
"""How long the absence of a secret is cached, in seconds."""

_KEPT = 256

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Secret:
    value: str | None = field(repr=False)
    until: float


class SecretMemory:
    """Caches secrets, but no errors. Safe to share between threads: concurrent callers for the same secret wait for one
    request, so a batch of ten runs sends one request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, _Secret] = OrderedDict()
        self._asked: dict[str, Future[str | None]] = {}
        self._lock = Lock()

    def get(self, path: str, fetch: Callable[[str], str | None]) -> str | None:
        """Return the secret at a path, or None if there is none. Calls `fetch(path)` if the secret is not cached.

        Raises the exceptions of `fetch`.
        """
        with self._lock:
            known = self._known.get(path)
            if known is not None and self._clock.now() < known.until:
                self._known.move_to_end(path)
                return known.value
            answer = self._asked.get(path)
            first = answer is None
            if answer is None:
                answer = self._asked[path] = Future()
        if first:
            self._fetch(path, fetch, answer)
        return answer.result()

    def _fetch(self, path: str, fetch: Callable[[str], str | None], answer: Future[str | None]) -> None:
        try:
            value = fetch(path)
        except BaseException as problem:  # noqa: BLE001 - raised in all threads that wait for the response
            with self._lock:
                del self._asked[path]
            answer.set_exception(problem)
            return
        until = self._clock.now() + (UNKNOWN_SECONDS if value is None else KNOWN_SECONDS)
        with self._lock:
            self._known[path] = _Secret(value, until)
            self._known.move_to_end(path)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
            del self._asked[path]
        answer.set_result(value)


class SsmSecrets:
    """Reads each secret from a parameter `/duecourse/<stage>/secrets/<tenant>/<name>`, usually a SecureString."""

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._stage = stage
        self._memory = SecretMemory(clock)

    def get(self, tenant: str, name: str) -> str:
        """Return the secret, which is at most a minute old. Raises SecretUnknownError or SecretsUnavailableError."""
        return _known(
            name, self._memory.get(f"/duecourse/{self._stage}/secrets/{tenant}/{_checked(name)}", self._fetch)
        )

    def _fetch(self, path: str) -> str | None:
        unknown = frozenset({"ParameterNotFound", "ParameterVersionNotFound"})
        answer = _asked(path, unknown, lambda: self._client.get_parameter(Name=path, WithDecryption=True))
        return None if answer is None else str(answer["Parameter"]["Value"])


class SecretsManagerSecrets:
    """Reads each secret from the current version of `duecourse/<stage>/<tenant>/<name>` in Secrets Manager, as text."""

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._stage = stage
        self._memory = SecretMemory(clock)

    def get(self, tenant: str, name: str) -> str:
        """Return the secret, which is at most a minute old. Raises SecretUnknownError or SecretsUnavailableError."""
        return _known(name, self._memory.get(f"duecourse/{self._stage}/{tenant}/{_checked(name)}", self._fetch))

    def _fetch(self, path: str) -> str | None:
        # InvalidRequestException: the secret is scheduled for deletion. A secret without text is binary and fits no
        # header.
        unknown = frozenset({"ResourceNotFoundException", "InvalidRequestException"})
        answer = _asked(path, unknown, lambda: self._client.get_secret_value(SecretId=path))
        return None if answer is None else answer.get("SecretString")


def _checked(name: str) -> str:
    """Return a valid name, which cannot refer to a secret of another tenant. Raises SecretUnknownError."""
    if _NAME.fullmatch(name) is None:
        raise SecretUnknownError("the name of a secret must be 1 to 64 letters, digits, _ . and -")
    return name


def _known(name: str, secret: str | None) -> str:
    if secret is None:
        raise SecretUnknownError(f"there is no secret named {name}")
    return secret


def _asked(path: str, unknown: frozenset[str], request: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """Return the response of the secret store, or None for the codes in `unknown`. Raises SecretsUnavailableError for
    all other errors: throttling ends, and permissions or keys may be corrected while a run still has attempts.
    """
    try:
        return request()
    except ServiceError as refused:
        code = refused.code
        if code in unknown:
            return None
        problem, reason = str(refused), code
    except AwsError as broken:
        problem, reason = str(broken), type(broken).__name__
    _logger.warning("secret_not_fetched", extra={"action": "secret_not_fetched", "secret": path, "error": problem})
    raise SecretsUnavailableError(reason)
