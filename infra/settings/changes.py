"""Changes to a stage's settings by JSON values. A setting that the JSON does not contain keeps the stage's value."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from difflib import get_close_matches
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from infra.settings.config import ConfigError, StageConfig

CHANGEABLE = (
    "account_concurrency",
    "alarms",
    "allowed_targets",
    "api",
    "api_domain",
    "archive",
    "audit_segments",
    "completed_job_retention_days",
    "connectors",
    "lanes",
    "limits",
    "list_successes",
    "log_retention_days",
    "loop_detection",
    "oidc_keys",
    "prescale",
    "reserved_concurrency",
    "result_buckets",
    "run_index_partitions",
    "run_retention_days",
    "shards",
    "standby",
    "tasks",
    "throughput",
    "tracing",
)
"""The fields of `StageConfig` that a deployment can change in part."""

FIXED = frozenset({"timeout_seconds", "batch_size", "metric_math", "here", "connectors"})
"""Fields of these settings that depend on the code, the emulator, the region or another setting, and so cannot be
changed.
"""

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}


def proposed(name: str, known: Collection[str]) -> str | None:
    """Return a question for the setting that was meant; None if no name is similar."""
    similar = get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {similar[0]}?" if similar else None


def changed(config: StageConfig, given: Mapping[str, Any]) -> StageConfig:
    """Return the stage with the values of `given`, which has fields of CHANGEABLE. A value that is a text is JSON.

    Raises ConfigError with all values that have a wrong type, or with all values that are out of range.
    """
    hints, wrong = get_type_hints(StageConfig), list[str]()
    values = {}
    for name, value in given.items():
        try:
            read = json.loads(value) if isinstance(value, str) else value
        except ValueError as error:
            wrong.append(f"{name} must be JSON: {error}")
            continue
        values[name] = _changed(getattr(config, name), read, hints[name], name, wrong)
    if wrong:
        raise ConfigError(f"stage {config.stage!r}: " + "; ".join(wrong))
    return replace(config, **values) if values else config


def _changed(current: Any, given: Any, kind: Any, where: str, wrong: list[str]) -> Any:
    """Return the new value of a setting of the type `kind`. Adds invalid values to `wrong`."""
    options = get_args(kind) if NoneType in get_args(kind) else (kind,)
    if given is None and NoneType in options:
        return None
    kind = next(option for option in options if option is not NoneType)
    if isinstance(kind, type) and is_dataclass(kind):
        known = {name: hint for name, hint in get_type_hints(kind).items() if name not in FIXED}
        values = dict(_parts(current, given, known, where, wrong))
        if current is not None:
            return replace(current, **values) if values else current
        missing = [each.name for each in fields(kind) if each.default is MISSING and each.name not in values]
        wrong += [f"{where}.{name} must be set" for name in missing]
        return None if missing else kind(**values)
    if get_origin(kind) is Mapping and current and not isinstance(next(iter(current.values())), Mapping):
        known = dict.fromkeys(current, get_args(kind)[1])
        return {**current, **dict(_parts(current, given, known, where, wrong))}
    if get_origin(kind) is Mapping:
        fits = isinstance(given, dict) and all(isinstance(each, dict) for each in given.values())
        expected = "an object of objects"
    elif get_origin(kind) is tuple:
        fits, expected = isinstance(given, list) and all(isinstance(each, str) for each in given), "a list of strings"
        given = tuple(given) if fits else given
    else:
        fits = type(given) is kind or (kind is float and type(given) is int)
        expected = _WORDS[kind]
    if not fits:
        wrong.append(f"{where} must be {expected}{' or null' if NoneType in options else ''}")
    return given


def _parts(
    current: Any, given: Any, known: Mapping[str, Any], where: str, wrong: list[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the new values of the parts of an object by their names. `known` has the type of each part."""
    if not isinstance(given, dict):
        wrong.append(f"{where} must be an object with some of {', '.join(sorted(known))}")
        return
    for name, value in given.items():
        if name not in known:
            others = proposed(name, known) or f"{where} has {', '.join(sorted(known))}"
            wrong.append(f"{where}.{name} is not a setting; {others}")
            continue
        before = current.get(name) if isinstance(current, Mapping) else getattr(current, name, None)
        yield name, _changed(before, value, known[name], f"{where}.{name}", wrong)
