"""Secrets of tenants, in SSM's Parameter Store or in Secrets Manager. Tenants share a stage, never a path."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from duecourse.adapters.aws.secret_memory import SecretMemory
from duecourse.ports import Clock, SecretsUnavailableError, SecretUnknownError

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_logger = logging.getLogger(__name__)


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
    """The name, if it is one; no others, and nobody else's, can be reached by it. Raises SecretUnknownError."""
    if _NAME.fullmatch(name) is None:
        raise SecretUnknownError("a secret's name is 1 to 64 letters, digits, _ . and -")
    return name


def _known(name: str, secret: str | None) -> str:
    if secret is None:
        raise SecretUnknownError(f"there is no secret named {name}")
    return secret


def _asked(path: str, unknown: frozenset[str], request: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """The store's answer, or None where it says one of these codes. Raises SecretsUnavailableError for all others:
    throttling passes, and permissions or keys may be put right while a run is still being tried.
    """
    try:
        return request()
    except ClientError as refused:
        code = str(refused.response.get("Error", {}).get("Code", ""))
        if code in unknown:
            return None
        problem, reason = str(refused), code
    except BotoCoreError as broken:
        problem, reason = str(broken), type(broken).__name__
    _logger.warning("secret_not_fetched", extra={"action": "secret_not_fetched", "secret": path, "error": problem})
    raise SecretsUnavailableError(reason)
