"""Secrets of tenants, in SSM's Parameter Store or in Secrets Manager. Each tenant has a path of its own."""

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
"""How long a secret is believed: a rotated one is used within a minute."""

UNKNOWN_SECONDS = 5
"""How long it is believed that there is none."""

_KEPT = 256

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Secret:
    value: str | None = field(repr=False)
    until: float


class SecretMemory:
    """Remembers answers, but no failures. Safe to share between threads: who asks for what is being fetched waits for
    that very response, so a batch of ten runs makes one request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, _Secret] = OrderedDict()
        self._asked: dict[str, Future[str | None]] = {}
        self._lock = Lock()

    def get(self, path: str, fetch: Callable[[str], str | None]) -> str | None:
        """The secret at that path, or None where there is none; `fetch(path)` is asked when that is not known.

        Raises what `fetch` raises.
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
        except BaseException as problem:  # noqa: BLE001 - raised by everybody who waits for the response
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
    """One parameter a secret: `/duecourse/<stage>/secrets/<tenant>/<name>`, a SecureString as a rule."""

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._stage = stage
        self._memory = SecretMemory(clock)

    def get(self, tenant: str, name: str) -> str:
        """The secret, at most a minute old. Raises SecretUnknownError, SecretsUnavailableError."""
        return _known(
            name, self._memory.get(f"/duecourse/{self._stage}/secrets/{tenant}/{_checked(name)}", self._fetch)
        )

    def _fetch(self, path: str) -> str | None:
        unknown = frozenset({"ParameterNotFound", "ParameterVersionNotFound"})
        answer = _asked(path, unknown, lambda: self._client.get_parameter(Name=path, WithDecryption=True))
        return None if answer is None else str(answer["Parameter"]["Value"])


class SecretsManagerSecrets:
    """One secret a secret: `duecourse/<stage>/<tenant>/<name>`, its current version, as text."""

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._stage = stage
        self._memory = SecretMemory(clock)

    def get(self, tenant: str, name: str) -> str:
        """The secret, at most a minute old. Raises SecretUnknownError, SecretsUnavailableError."""
        return _known(name, self._memory.get(f"duecourse/{self._stage}/{tenant}/{_checked(name)}", self._fetch))

    def _fetch(self, path: str) -> str | None:
        # InvalidRequestException: it is about to be deleted. Without text it is binary and fits no header.
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
    """The store's response, or None where it says one of these codes. Raises SecretsUnavailableError for all others:
    throttling passes, and permissions or keys may be put right while a run is still being tried.
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
