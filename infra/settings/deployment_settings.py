"""The settings of a deployment in `settings/<stage>.json`, so that commands do not need to repeat them.

The file has the values of `-c` options: `{"alarm_email": "you@example.com", "shards": 32}`. An option `-c` overrides
the file for one deployment. If it changes the kind of authorization, the file's settings for another kind are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from infra.settings.changes import CHANGEABLE, proposed
from infra.settings.config import ConfigError

TEXTS = (
    "alarm_email",
    "audience",
    "auth",
    "console_client",
    "console_scope",
    "deployment",
    "docs_url",
    "encryption_key",
    "issuer",
    "like",
    "operator_tenant",
    "ping_url",
    "tenant_claim",
)
"""The settings that are texts. `infra.settings.changes` validates the others."""

DEPLOYMENT_SETTINGS = tuple(sorted((*TEXTS, *CHANGEABLE)))
"""The settings that `infra.stages.from_context` reads, except for the stage's name and `deletion_protection`. If the
latter were stored, a stage would remain unprotected.
"""


def with_deployment_settings(
    context: Callable[[str], Any], folder: Path, stages: Collection[str]
) -> Callable[[str], Any]:
    """Return the context with the settings in the stage's file in `folder`, if there is one.

    Values other than strings are returned as JSON, as in `-c` options. Raises ConfigError for a file that is not an
    object with the names above (each at most once), and for a text setting that is empty or not a string. Also raises
    it for the file of a stage that is not known and has no `like`; otherwise the file would be ignored, and the stage
    deployed without it.
    """
    for file in sorted(folder.glob("*.json")):
        if file.stem not in stages and "like" not in _read(file):
            raise ConfigError(
                f"settings/{file.name} does not belong to a stage; the stages are {', '.join(stages)}, and those "
                'whose file names one of them, such as {"like": "prod"}'
            )
    kept = _read(folder / f"{context('stage')}.json")
    if context("auth") not in (None, "jwt"):
        passed_over = {"issuer", "audience", "console_client", "console_scope"}
    else:
        passed_over = {"auth"} if context("issuer") is not None or context("audience") is not None else set()
    kept = {name: value for name, value in kept.items() if name not in passed_over}

    def look(name: str) -> Any:
        given = context(name)
        return kept.get(name) if given is None else given

    return look


def _read(file: Path) -> dict[str, str]:
    return read_settings(file, f"settings/{file.name}") if file.is_file() else {}


def read_settings(file: Path, where: str) -> dict[str, str]:
    """Return the settings in a file by name, in the format of `-c` options. `where` names the file in errors. Raises
    ConfigError.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror or error}") from error
    except _TwiceError as error:
        raise ConfigError(f"{where}: {error} occurs twice; keep one of them") from error
    except ValueError as error:
        raise ConfigError(f"{where} must be JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f'{where} must be an object, such as {{"alarm_email": "you@example.com"}}')
    return checked_settings(found, where)


def checked_settings(found: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return settings in the format of `-c` options. Raises ConfigError for an unknown name, and for a text setting
    that is empty or not a string.
    """
    settings = f"the settings are {', '.join(DEPLOYMENT_SETTINGS)}"
    wrong = [
        f"{name} is not a setting; {proposed(name, DEPLOYMENT_SETTINGS) or settings}"
        for name in found
        if name not in DEPLOYMENT_SETTINGS
    ]
    wrong += [f"{name} must be a string" for name in found if name in TEXTS and not isinstance(found[name], str)]
    wrong += [
        f"{name} must not be empty" for name, value in found.items() if isinstance(value, str) and not value.strip()
    ]
    if wrong:
        raise ConfigError(f"{where}: " + "; ".join(wrong))
    return {name: value if name in TEXTS or value == "none" else json.dumps(value) for name, value in found.items()}


class _TwiceError(Exception):
    """A duplicate name in an object. JSON would use the last value."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _TwiceError(name)
        found[name] = value
    return found
