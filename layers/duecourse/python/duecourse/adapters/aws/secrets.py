"""Secrets of tenants in SSM Parameter Store or in Secrets Manager. Each tenant has a separate path."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from duecourse.adapters.shared_cache import SharedCache
from duecourse.limits import SECRET_SECONDS, SECRET_SPREAD
from duecourse.ports import AwsError, Clock, SecretsUnavailableError, SecretUnknownError, ServiceError

STALE_SECONDS = 15 * 60
"""How long a secret is used after it was fetched if its store does not respond, in seconds. A deleted secret is not
used: its store says that it does not exist.
"""

UNKNOWN_SECONDS = 5
"""How long the absence of a secret is cached, in seconds."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_logger = logging.getLogger(__name__)


class SsmSecrets:
    """Reads each secret from the `/duecourse/<stage>/secrets/<tenant>/<name>` parameter, usually a SecureString."""

    def __init__(self, client: Any, stage: str, clock: Clock, draw: Callable[[], float]) -> None:
        self._client = client
        self._stage = stage
        self._draw = draw
        self._memory = _memory(clock)

    def get(self, tenant: str, name: str) -> str:
        """Return the secret, which is at most a minute old, or STALE_SECONDS if its store does not respond. Raises
        SecretUnknownError or SecretsUnavailableError.
        """
        path = f"/duecourse/{self._stage}/secrets/{tenant}/{_checked(name)}"
        return _known(name, f"parameter {path}", self._memory.get(path, self._fetch))

    def _fetch(self, path: str) -> tuple[str | None, float]:
        unknown = frozenset({"ParameterNotFound", "ParameterVersionNotFound"})
        answer = _asked(path, unknown, lambda: self._client.get_parameter(Name=path, WithDecryption=True))
        secret = None if answer is None else str(answer["Parameter"]["Value"])
        return secret, lifetime(secret, self._draw())


class SecretsManagerSecrets:
    """Reads each secret from the current version of `duecourse/<stage>/<tenant>/<name>` in Secrets Manager, as text."""

    def __init__(self, client: Any, stage: str, clock: Clock, draw: Callable[[], float]) -> None:
        self._client = client
        self._stage = stage
        self._draw = draw
        self._memory = _memory(clock)

    def get(self, tenant: str, name: str) -> str:
        """Return the secret, which is at most a minute old, or STALE_SECONDS if its store does not respond. Raises
        SecretUnknownError or SecretsUnavailableError.
        """
        path = f"duecourse/{self._stage}/{tenant}/{_checked(name)}"
        return _known(name, f"secret {path} in Secrets Manager", self._memory.get(path, self._fetch))

    def _fetch(self, path: str) -> tuple[str | None, float]:
        # InvalidRequestException: the secret is scheduled for deletion. A secret without text is binary and fits no
        # header.
        unknown = frozenset({"ResourceNotFoundException", "InvalidRequestException"})
        answer = _asked(path, unknown, lambda: self._client.get_secret_value(SecretId=path))
        secret = None if answer is None else answer.get("SecretString")
        return secret, lifetime(secret, self._draw())


def _memory(clock: Clock) -> SharedCache[str | None]:
    return SharedCache(clock, stale_after=SecretsUnavailableError, stale_seconds=STALE_SECONDS)


def _checked(name: str) -> str:
    """Return a valid name unchanged: it cannot refer to another tenant's secret. Raises SecretUnknownError."""
    if _NAME.fullmatch(name) is None:
        raise SecretUnknownError("the name of a secret must be 1 to 64 letters, digits, _ . and -")
    return name


def _known(name: str, place: str, secret: str | None) -> str:
    if secret is None:
        text = (
            f"there is no secret named {name}: the {place} does not exist; store it with duecourse secrets put {name}"
        )
        raise SecretUnknownError(text)
    return secret


def lifetime(secret: str | None, draw: float) -> float:
    """Return the seconds for which a secret, or its absence, is cached. `draw` is a random number in [0, 1)."""
    return UNKNOWN_SECONDS if secret is None else SECRET_SECONDS * (1 - SECRET_SPREAD * draw)


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
