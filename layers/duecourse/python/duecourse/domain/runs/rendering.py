"""Rendering of a job's templates for a call, and its size limits.

The size is computed before rendering. So a small template cannot expand to a large text in the memory of a worker that
many tenants share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

from duecourse.domain.ids import RunName, to_basic
from duecourse.domain.instants import to_iso
from duecourse.domain.jobs.job import Completion, Job, JobDefinition
from duecourse.domain.runs.callbacks import CallbackToken
from duecourse.domain.runs.states import Run, Running
from duecourse.domain.targets.http import header_problem
from duecourse.domain.targets.messages import message_group, message_subject
from duecourse.domain.targets.targets import AwsTarget, HttpTarget, SnsTarget, SqsTarget, Target, WorkflowTarget
from duecourse.domain.targets.template import (
    IDEMPOTENCY_NAMES,
    TemplateError,
    check_template,
    literal,
    render_template,
    rendered_size,
    secret_names,
    texts_in,
)
from duecourse_schedules import load_zone

MAX_BODY_BYTES = 256 * 1024
"""The limit for a payload, or for the parameters of an AWS call, as JSON. It was the limit of SQS, SNS, EventBridge and
Step Functions when this constant was set. A job's own payload has at most 200 KB, which leaves room for rendered
values.
"""

MAX_HEADER_BYTES = 8 * 1024
"""The limit for the name and value of one header together. Common servers reject longer lines."""

MAX_HEADERS_BYTES = 32 * 1024
"""The limit for all headers that a job sends."""

MAX_KEY_CHARACTERS = 255
"""The limit for an idempotency key: the length that receivers commonly store."""

MAX_CONCURRENCY_KEY = 128
"""The limit for a concurrency key, in characters."""

_PAYLOAD = re.compile(r"\{\{\s*payload\.(?P<path>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\s*\}\}")
_IN_KEYS = "A-Za-z0-9_.:@=+-"
_NOT_IN_KEYS = re.compile(f"[^{_IN_KEYS}]")
CONCURRENCY_KEY_PATTERN = f"[{_IN_KEYS}]{{1,{MAX_CONCURRENCY_KEY}}}"
"""The pattern for rendered concurrency keys."""

DOT_SEGMENTS = frozenset({".", ".."})
"""Keys that no client can write into a path, because they change the route."""

_FORMS: Mapping[str, Callable[[str], str]] = {"group": message_group, "subject": message_subject}
"""The fields of targets for messages that are templates: each function returns a rendered value in a valid form.
"""

AnyTarget = TypeVar("AnyTarget", bound=Target)

Headers = Sequence[tuple[str, str]]

DEFAULT_KEY = "{}/{}"
"""The idempotency key of a tenant's run. It is unique among all tenants, since a receiver may serve several."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job as a run calls it. `taken` has the values of the workflow's run that its templates may use."""

    job: Job
    taken: Mapping[str, str] = field(default_factory=dict)


class TemplateTooLargeError(TemplateError):
    """A rendered template would exceed its limit. Nothing was rendered."""

    code = "template_too_large"


def values_for(run: Run, job: Job) -> dict[str, str]:
    """Return the values of TEMPLATE_NAMES for a run's current attempt.

    The times depend on the occurrence, never on the current time. `date` (2026-11-21), `week` (ISO, 2026-W47) and
    `month` (2026-11) use the calendar of the schedule's time zone, so that a report on Monday at 00:30 in Tokyo has
    Monday's date. `scheduled_at` (2026-11-21T06:47:00Z), `due_at` (the same with jitter) and `occurrence`
    (20261121T064700Z) are UTC. The name of a job without a name is its id.
    """
    wall = datetime.fromtimestamp(load_zone(job.schedule.timezone).wall(run.occurrence), UTC)
    year, week, _ = wall.isocalendar()
    return {
        "job_id": run.job_id,
        "run_id": run.run_id,
        "occurrence": run.name.at,
        "tenant": run.tenant,
        "scheduled_at": to_iso(run.occurrence),
        "due_at": to_iso(run.due),
        "date": wall.date().isoformat(),
        "week": f"{year:04d}-W{week:02d}",
        "month": f"{wall.year:04d}-{wall.month:02d}",
        "attempt": str(max(run.attempt, 1)),  # of a run that has not started: its first attempt
        "job_name": job.name or job.id,
    }


def call_values(run: Run, job: Job, key: str, taken: Mapping[str, str], token: str | None) -> dict[str, str]:
    """Return the values for the templates of a call with this idempotency key: CALL_NAMES, the values `taken` from the
    workflow, and `callback_token` if the run waits for a callback.
    """
    values = values_for(run, job) | dict(taken) | {"idempotency_key": key}
    return values if token is None else values | {"callback_token": token}


def longest_values(tenant: str, job_id: str, job_name: str, key: str | None, *, callback: bool) -> dict[str, str]:
    """Return the longest possible values for a run of a job, including its idempotency key and, for a callback, its
    token.

    A template that fits with these values fits in every run. Raises TemplateTooLargeError if the key itself is too
    long.
    """
    run_id = str(RunName(job_id, 0, f".m{'x' * 8}"))
    values = {
        "job_id": job_id,
        "run_id": run_id,
        "occurrence": to_basic(0),
        "tenant": tenant,
        "scheduled_at": to_iso(0),
        "due_at": to_iso(0),
        "date": "1970-01-01",
        "week": "1970-W01",
        "month": "1970-01",
        "attempt": "9999",
        "job_name": job_name or job_id,
    }
    values["idempotency_key"] = DEFAULT_KEY.format(tenant, run_id) if key is None else _rendered_key(key, values)
    if callback:
        values["callback_token"] = str(CallbackToken(tenant, 9999, "x" * 64))
    return values


def oversized_parts(job: JobDefinition, tenant: str, job_id: str, target: Target) -> list[tuple[str, str]]:
    """Return the parts of a job's call that could be too large (`idempotency_key`, `payload`, `headers`, `parameters`),
    each with the problem. `target` is the job's target, or that of its task. The length of a secret is known only at
    the call, so secrets have length 0 here.
    """
    callback = job.completion is not Completion.RESPONSE
    try:
        values = longest_values(tenant, job_id, job.name, job.idempotency_key, callback=callback)
    except TemplateTooLargeError as problem:
        return [("idempotency_key", str(problem))]
    checks = [("payload", partial(check_document_size, job.payload, values))]
    match target:
        case HttpTarget(headers=headers):
            checks.append(("headers", partial(check_headers_size, headers, values, {})))
        case AwsTarget(parameters=parameters):
            checks.append(("parameters", partial(check_document_size, parameters, values)))
    oversized = []
    for part, check in checks:
        try:
            check()
        except TemplateTooLargeError as problem:
            oversized.append((part, str(problem)))
    return oversized


def unsendable_parts(job: JobDefinition, tenant: str, job_id: str, target: Target) -> Iterator[tuple[str, str]]:
    """Yield the fields whose values HTTP or AWS would reject, each with the problem. `target` is the job's target, or
    that of its task. The values of secrets are known only at the call.
    """
    if job.idempotency_key is None and isinstance(target, HttpTarget) and not target.headers:
        return
    callback = job.completion is not Completion.RESPONSE
    try:
        values = longest_values(tenant, job_id, job.name, job.idempotency_key, callback=callback)
    except TemplateError:
        return  # oversized_parts reports this
    if problem := header_problem("Idempotency-Key", values["idempotency_key"]):
        yield "idempotency_key", problem
    match target:
        case HttpTarget(headers=headers):
            for name, value in headers:
                try:
                    problem = header_problem(
                        name, render_template(value, values, dict.fromkeys(secret_names(value), "x"))
                    )
                except TemplateError as error:
                    problem = f"header {name[:40]}: {error}"
                if problem:
                    yield "target/headers", problem
        case SqsTarget() | SnsTarget():
            for field, form in _FORMS.items():
                if (text := getattr(target, field, None)) is not None:
                    try:
                        form(render_template(text, values))
                    except TemplateError as error:
                        yield f"target/{field}", str(error)


def idempotency_key(run: Run, job: Job) -> str:
    """Return the idempotency key of all attempts of a run.

    It is the key of the run's first call (Attempts.idempotency_key); without one, the job's rendered template; without
    a template, `<tenant>/<run id>`. The run of a backfill has the key of the scheduled run. Raises TemplateError.
    """
    if run.attempts is not None and run.attempts.idempotency_key is not None:
        return run.attempts.idempotency_key
    # Runs of a backfill have the keys of the scheduled runs, unless the backfill forces new keys (suffix `.f…`).
    run_id = run.name.scheduled.id if run.suffix.startswith(".b") else run.run_id
    if job.idempotency_key is not None:
        return _rendered_key(job.idempotency_key, values_for(run, job) | {"run_id": run_id})
    return DEFAULT_KEY.format(run.tenant, run_id)


def check_concurrency_key(template: str) -> tuple[str, ...]:
    """Return the problems of the template of a concurrency key, one sentence each."""
    named = _PAYLOAD.sub("x", template)
    return check_template(named, ("job_id", "payload.FIELD"))


def concurrency_key(template: str, job_id: str, payload: Any) -> str:
    """Return the rendered key: `crm-{{payload.region}}` becomes `crm-eu`. In values, characters other than letters
    (a-z), digits and `_.:@=+-` become `_`. Raises TemplateError if the payload has no such text or number.
    """
    rendered = _with_values(template, job_id, payload, lambda value: _NOT_IN_KEYS.sub("_", value))
    _bound(len(rendered), MAX_CONCURRENCY_KEY, f"in the key {template[:40]}", unit="characters")
    return _NOT_IN_KEYS.sub("_", rendered)


def as_key(text: str) -> str:
    """Return a text as a key that several jobs can share, shortened to the limit."""
    return _NOT_IN_KEYS.sub("_", text)[:MAX_CONCURRENCY_KEY]


def group_key(template: str, job_id: str, payload: Any) -> str:
    """Return a text for the values that the template names: different values have different texts. Raises TemplateError
    as concurrency_key does.
    """
    return _with_values(template, job_id, payload, lambda value: sha256(value.encode()).hexdigest())


def _with_values(template: str, job_id: str, payload: Any, form: Callable[[str], str]) -> str:
    """Return the rendered template with each value of the payload in this form, in which it is not a template."""

    def found(match: re.Match[str]) -> str:
        value = payload
        for part in match["path"].split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise TemplateError(f"key {template[:40]}: the payload has no string or number at {match['path'][:40]}")
        return form(str(value))

    return render_template(_PAYLOAD.sub(found, template), {"job_id": job_id})


def check_document_size(value: Any, values: Mapping[str, str]) -> None:
    """Check the size of a JSON value after rendering. Raises TemplateTooLargeError above MAX_BODY_BYTES."""
    templates = [text for _, text in texts_in(value) if "{{" in text] if value else []
    if not templates:
        return
    sizes = {name: _json_bytes(text) - 2 for name, text in values.items()}  # without the quotes
    size = _json_bytes(value) + sum(rendered_size(text, sizes) - len(text) for text in templates)
    _bound(size, MAX_BODY_BYTES, "as JSON")


def literal_payload(job: JobDefinition, value: Any) -> Any:
    """Return the payload with which the job's target receives this JSON value unchanged. The payload of a workflow is
    not a template: values from it are inserted as they are.
    """
    return value if isinstance(job.target, WorkflowTarget) else literal(value)


def render_document(value: Any, values: Mapping[str, str]) -> Any:
    """Return a JSON value with every string in it rendered. Keys of objects are unchanged. Raises TemplateError."""
    check_document_size(value, values)
    return _rendered(value, values)


def render_target(target: AnyTarget, values: Mapping[str, str]) -> AnyTarget:
    """Return an AWS target with its templates rendered. Raises TemplateError, also for values that AWS would reject."""
    match target:
        case SqsTarget(group=str(group)):
            return replace(target, group=_field("group", group, values))
        case SnsTarget(subject=subject, group=group):
            own = {"subject": subject, "group": group}
            return replace(
                target, **{name: _field(name, text, values) for name, text in own.items() if text is not None}
            )
        case AwsTarget(parameters=parameters):
            return replace(target, parameters=render_document(parameters, values))
        case _:
            return target


def check_headers_size(headers: Headers, values: Mapping[str, str], secrets: Mapping[str, str]) -> None:
    """Check the size of headers after rendering, each and all together. A secret that is not in `secrets` counts as 0.
    Raises TemplateTooLargeError.
    """
    sizes = {name: len(value) for name, value in values.items()}
    sizes |= {f"secret:{name}": len(secret) for name, secret in secrets.items()}
    total = 0
    for name, value in headers:
        size = len(name) + rendered_size(value, sizes)
        _bound(size, MAX_HEADER_BYTES, f"in header {name[:40]}")
        total += size
    _bound(total, MAX_HEADERS_BYTES, "in all headers together")


def render_headers(headers: Headers, values: Mapping[str, str], secrets: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers with their values rendered. Raises TemplateError."""
    check_headers_size(headers, values, secrets)
    rendered = []
    for name, value in headers:
        try:
            rendered.append((name, render_template(value, values, secrets)))
        except TemplateError as problem:
            raise TemplateError(f"header {name[:40]}: {problem}") from None
    return rendered


def _field(name: str, text: str, values: Mapping[str, str]) -> str:
    try:
        return _FORMS[name](render_template(text, values))
    except TemplateError as problem:
        raise TemplateError(f"{name} {problem}") from None


def _rendered_key(template: str, values: Mapping[str, str]) -> str:
    known = {name: values[name] for name in IDEMPOTENCY_NAMES}
    size = rendered_size(template, {name: len(value) for name, value in known.items()})
    _bound(size, MAX_KEY_CHARACTERS, "in the idempotency key", unit="characters")
    return render_template(template, known)


def _rendered(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            return render_template(value, values)
        case dict():
            return {key: _rendered(inside, values) for key, inside in value.items()}
        case list() | tuple():
            return [_rendered(inside, values) for inside in value]
        case _:
            return value


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


def _bound(size: int, limit: int, where: str, *, unit: str = "bytes") -> None:
    if size > limit:
        raise TemplateTooLargeError(
            f"{size} {unit} {where} after the templates are filled in; at most {limit} are allowed"
        )


def with_its_key(run: Running, job: Job) -> Running:
    """Return the run with its idempotency key. The key is recorded before the first call, since the job may be edited
    before the next call.
    """
    if run.attempts.idempotency_key is not None:
        return run
    try:
        return replace(run, attempts=replace(run.attempts, idempotency_key=idempotency_key(run, job)))
    except TemplateError:
        return run  # the call will fail with that error
