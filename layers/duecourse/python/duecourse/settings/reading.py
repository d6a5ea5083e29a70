"""Settings: one frozen class per function, read from its environment.

Invalid or missing values are rejected at start, and the error lists all of them. Each variable is `DUECOURSE_` and the
field's name in capitals. A mapping by lane has one variable per lane.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, ClassVar, Self, get_type_hints

from duecourse.domain.ids import is_id
from duecourse.domain.jobs.job import Lane, Precision
from duecourse.domain.jobs.result_buckets import ResultBuckets
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, AllowedTargets
from duecourse.domain.targets.oidc import OidcIssuer
from duecourse.domain.targets.targets import Connectors
from duecourse.limits import MAX_ACCOUNT_CONCURRENCY, MAX_RUN_INDEX_PARTITIONS, MAX_SHARDS

PREFIX = "DUECOURSE_"


class SettingsError(ValueError):
    """The environment is invalid. The message lists every missing or invalid variable and its expected value."""


def _integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return text

    return read


def _step(words: type[StrEnum]) -> Callable[[str], StrEnum]:
    check = _one_of(*words)
    return lambda text: words(check(text))


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _allowed(text: str) -> AllowedTargets:
    """Parse the JSON of the allowed targets: `{"functions": ["duecourse-target-*"], …}`. Kinds that are not listed are
    not allowed.
    """
    try:
        given = json.loads(text)
        public_ip = given.pop("public_ip", False) is True
        connectors = _connectors(given.pop("connectors", {}))
        lists = {name: tuple(patterns) for name, patterns in given.items()}
        return AllowedTargets(public_ip=public_ip, connectors=connectors, **lists)
    except (ValueError, TypeError, AttributeError, KeyError):
        known = ", ".join(ALLOW_LISTS)
        raise ValueError(f"must be a JSON object of lists named {known}") from None


def _connectors(given: Mapping[str, Any]) -> Connectors:
    if not given:
        return {}
    from duecourse.domain.targets.connectors import connectors_of  # only stages with connectors import it

    return connectors_of(given)


def _result_buckets(text: str) -> ResultBuckets:
    """Parse the JSON of the buckets for results: `{"reports": {"acme": "duecourse/"}}`."""
    problem = "must be a JSON object of the prefixes of tenants by bucket"
    try:
        given = json.loads(text)
    except ValueError:
        raise ValueError(problem) from None
    if not isinstance(given, dict) or not all(
        isinstance(prefixes, dict) and all(isinstance(each, str) for each in prefixes.values())
        for prefixes in given.values()
    ):
        raise ValueError(problem)
    return given


def _prescale(text: str) -> str:
    """Check the JSON of the rules for peaks."""
    from duecourse.domain.maintenance.peaks import rules_of  # only stages with the setting import it

    rules_of(text)
    return text


NO_KEYS = "none"
"""The setting of a stage that signs no OIDC tokens."""


def _oidc(text: str) -> OidcIssuer | None:
    """Parse the issuer of OIDC tokens and the ids of its keys: `https://... KEY-ID KEY-ID`."""
    if text == NO_KEYS:
        return None
    issuer, *keys = text.split(" ")
    if not all((issuer, keys, *keys)):
        raise ValueError(f"must be a URL, followed by the ids of the keys, or {NO_KEYS}")
    return OidcIssuer(issuer, tuple(keys))


NO_OPERATOR = "*"
"""The operator tenant of a stage that has none. No tenant has this name."""


def _operator(text: str) -> str | None:
    if text != NO_OPERATOR and not is_id(text):
        raise ValueError(f"must be a tenant, or {NO_OPERATOR} for none")
    return None if text == NO_OPERATOR else text


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share < 1:
        raise ValueError("must be a number between 0 and 1")
    return share


_READERS: dict[str, Callable[[str], Any]] = {
    "shards": _integer(1, MAX_SHARDS),
    "run_index_partitions": _integer(1, MAX_RUN_INDEX_PARTITIONS),
    "list_successes": lambda text: _one_of("true", "false")(text) == "true",
    # The maximum delay of a message is 900 s (SQS, DelaySeconds). One minute is reserved for waiting and clock
    # differences.
    "lookahead_seconds": _integer(60, 840),
    "horizon_seconds": _integer(60, 840),
    "run_retention_days": _integer(1, 3650),
    "max_receive_count": _integer(2, 1000),
    "account_concurrency": _integer(1, MAX_ACCOUNT_CONCURRENCY),
    "failed_share": _share,
    "seats": _integer(1, 1000),
    "lane": _step(Lane),
    "default_precision": _step(Precision),
    "private_targets": _one_of("allow", "refuse"),
    "allowed_targets": _allowed,
    "result_buckets": _result_buckets,
    "oidc": _oidc,
    "secret_store": _one_of("parameters", "secrets_manager"),
    "auth": _one_of("none", "iam", "jwt"),
    "job_quota": _integer(1, 10_000_000),
    "requests_per_second": _integer(1, 100_000),
    "burst": _integer(1, 1_000_000),
    "smallest_interval_seconds": _integer(1, 86_400),
    "backfill_limit": _integer(1, 1_000_000),
    "delayed_runs_per_hour": _integer(1, 10_000_000),
    "repair_hours": _integer(1, 168),
    "completed_job_retention_days": _integer(1, 36_500),
    "audit_segments": _integer(1, 168),
    "operator_tenant": _operator,
    "prescale": _prescale,
    "prescale_dollars": float,
}


def problem_of(name: str, value: object) -> str | None:
    """Return why the functions would reject a value of a setting, or None."""
    try:
        _READERS[name](str(value))
    except ValueError as error:
        return str(error)
    return None


OPTIONAL = frozenset({"fence", "prescale", "prescale_dollars"})
"""The settings that only some stages have. Without its variable, such a setting has its default."""


class FromEnvironment:
    """The base class of the settings of all functions. `caller_waits`: a program waits for the function's response.
    `short_timeouts`: its requests to AWS have short timeouts, for this or another reason.
    """

    caller_waits: ClassVar[bool] = False
    short_timeouts: ClassVar[bool] = False

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read all fields. Raises SettingsError, which lists all problems."""
        values: dict[str, Any] = {}
        wrong: list[str] = []
        hints = get_type_hints(cls)
        for field in fields(cls):  # type: ignore[arg-type]
            if field.name in OPTIONAL and PREFIX + field.name.upper() not in environ:
                continue
            if hints[field.name] in (Mapping[Lane, str], Mapping[Lane, int]):
                stem = field.name.removesuffix("s")
                values[field.name] = {lane: _read(f"{stem}_{lane.value}", field.name, environ, wrong) for lane in Lane}
            else:
                values[field.name] = _read(field.name, field.name, environ, wrong)
        lookahead, horizon = values.get("lookahead_seconds"), values.get("horizon_seconds")
        if lookahead is not None and horizon is not None and horizon < lookahead:
            # A cursor within the lookahead and beyond the horizon would be planned repeatedly and never move.
            wrong.append(
                f"{PREFIX}HORIZON_SECONDS={horizon}: must not be less than {PREFIX}LOOKAHEAD_SECONDS={lookahead}"
            )
        if values.get("auth") == "none" and values.get("stage") != "local":
            # The stage's configuration rejects it too: an API without authentication should require two mistakes.
            wrong.append(f"{PREFIX}AUTH='none': is allowed only for the stage local")
        if wrong:
            raise SettingsError(f"{cls.__name__}: " + "; ".join(wrong))
        return cls(**values)


def _read(variable: str, field: str, environ: Mapping[str, str], wrong: list[str]) -> Any:
    name = PREFIX + variable.upper()
    if name not in environ:
        wrong.append(f"{name} is missing")
        return None
    try:
        return _READERS.get(field, _text)(environ[name])
    except ValueError as problem:
        wrong.append(f"{name}={environ[name]!r}: {problem}")
        return None
