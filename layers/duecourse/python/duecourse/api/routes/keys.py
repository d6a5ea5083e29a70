"""The routes of API keys, and the trigger URLs that start runs with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from typing_extensions import TypedDict

from duecourse.api.answers import JobId, Millisecond, RunId, Second
from duecourse.api.api import Answer, Api, route
from duecourse.api.bodies.models import LINE, Body, Whole, no_controls, refuse, unfit
from duecourse.api.bodies.posted import TemplateKey
from duecourse.api.bodies.validation import read_body
from duecourse.api.problems import FieldFault, Problem, invalid, later, shortened
from duecourse.api.request import IDEMPOTENCY_KEY, Request, read_key, request_key
from duecourse.api.routes.manual import payload_faults_of
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.jobs.job import MAX_DESCRIPTION, Job
from duecourse.domain.runs.api_keys import (
    DEFAULT_DAYS,
    DEFAULT_PER_MINUTE,
    EVENT_PATTERN,
    KEY_ID_PATTERN,
    KEY_PATTERN,
    MAX_DAYS,
    MAX_DEBOUNCE_SECONDS,
    MAX_EVENTS,
    MAX_KEYS,
    MAX_PER_MINUTE,
    ApiKey,
)
from duecourse.domain.runs.rendering import literal_payload
from duecourse.domain.targets.template import TemplateError
from duecourse.domain.tenants.rate import retry_after
from duecourse.usecases.runs.api_keys import (
    ApiKeyDraft,
    ApiKeyQuotaError,
    ApiKeyRateError,
    ApiKeyUnknownError,
    BadApiKeyError,
    SignatureError,
)
from duecourse.usecases.runs.requests import OwnPayload

SCOPE_PATTERN = f"run:{ID_PATTERN}"
SENDERS_KEYS = ("webhook-id", "x-github-delivery")
"""Headers in which common senders name a request. They count as Idempotency-Key."""

SIGNATURE = "x-hub-signature-256"
EVENT = "x-github-event"
"""The header in which GitHub, Gitea and Forgejo name the event of a webhook."""

Scope = Annotated[str, Field(pattern=f"^{SCOPE_PATTERN}$", description="The job that the key can run: run:JOB.")]


def _scope(scope: str) -> str:
    if re.fullmatch(SCOPE_PATTERN, scope) is None:
        raise refuse('must be "run:" and the id of a job, such as run:nightly')
    return scope


class KeyBody(Body):
    """A key to create."""

    scope: Annotated[
        str,
        Field(
            description="The job that the key can run: run:JOB.",
            json_schema_extra={"pattern": f"^{SCOPE_PATTERN}$"},
        ),
        AfterValidator(_scope),
    ]
    description: Annotated[
        str, Field(max_length=MAX_DESCRIPTION, json_schema_extra=LINE), AfterValidator(no_controls)
    ] = ""
    expires_in_days: Annotated[Whole, Field(ge=1, le=MAX_DAYS)] = DEFAULT_DAYS
    requests_per_minute: Annotated[Whole, Field(ge=1, le=MAX_PER_MINUTE)] = DEFAULT_PER_MINUTE
    debounce_seconds: Annotated[
        Whole | None,
        Field(
            ge=1,
            le=MAX_DEBOUNCE_SECONDS,
            description="The first request opens a window of this length. The requests in it with the same "
            "debounce_key start one run, ten seconds after its end, with the last payload.",
        ),
    ] = None
    debounce_key: Annotated[
        TemplateKey | None,
        Field(description="A template, such as {{payload.repository.name}}. Without it, all requests start one run."),
    ] = None

    deduplicate_key: Annotated[
        TemplateKey | None,
        Field(
            description="A template, such as {{payload.order}}. Requests with the same value start one run, while its "
            "record is kept. It cannot be combined with debounce_seconds."
        ),
    ] = None

    signed: Annotated[bool, Field(strict=True, description="Whether requests must have a signature.")] = False
    events: Annotated[
        list[Annotated[str, Field(pattern=f"^{EVENT_PATTERN}$")]],
        Field(
            max_length=MAX_EVENTS,
            description="The values of X-GitHub-Event, such as push, that start runs. Requests about other events have "
            "no effect. Empty: all events except ping.",
        ),
    ] = Field(default_factory=list)

    @field_validator("deduplicate_key")
    @classmethod
    def _alone(cls, key: str | None, info: ValidationInfo) -> str | None:
        if key is not None and info.data.get("debounce_seconds") is not None:
            raise refuse("cannot be combined with debounce_seconds; remove one of them")
        return key

    @field_validator("debounce_key")
    @classmethod
    def _needs_seconds(cls, key: str | None, info: ValidationInfo) -> str | None:
        if key is not None and info.data.get("debounce_seconds", 1) is None:
            raise refuse("requires debounce_seconds; set it, or remove this field")
        return key


class TriggeredAnswer(TypedDict):
    """The run that a request with an API key starts.

    It has no field of a run in progress or of its result, because a key does not permit reading them.
    """

    id: RunId
    job_id: JobId
    due: Second
    requested_by: str


class KeyAnswer(TypedDict):
    """A key, without its text."""

    id: Annotated[str, Field(pattern=f"^{KEY_ID_PATTERN}$")]
    scope: Scope
    description: str
    created_at: Millisecond
    created_by: str
    expires_at: Second
    last_used_at: Annotated[
        Millisecond | None, Field(description="The last use, to the hour; null if the key was never used.")
    ]
    requests_per_minute: Annotated[int, Field(ge=1)]
    debounce_seconds: int | None
    debounce_key: str | None
    deduplicate_key: str | None
    signed: bool
    events: Annotated[list[str], Field(description="The events that start runs; empty: all events except ping.")]


class CreatedKeyAnswer(KeyAnswer):
    """A new key with its text and its secret, which are not stored and cannot be read again."""

    key: Annotated[str, Field(pattern=f"^{KEY_PATTERN}$")]
    path: Annotated[str, Field(description="The path of the trigger URL. It contains the key.")]
    secret: Annotated[
        str | None,
        Field(description="The secret for X-Hub-Signature-256; null if requests need no signature."),
    ]


class KeysAnswer(TypedDict):
    """All keys of the tenant, newest first."""

    items: list[KeyAnswer]


@route(
    "POST",
    "/v1/keys",
    "keys",
    {201: CreatedKeyAnswer},
    body=KeyBody,
    headers=("Idempotency-Key",),
    problems=("invalid-key", "unknown-job", "key-quota", "idempotency-key-reused", "busy"),
)
def create_key(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Create an API key.

    The key starts runs of one job. Only its hash is stored, so this response is the only one that contains the key. A
    repeated request with the same `Idempotency-Key` replaces the first API key.
    """
    own = read_key(request)
    body = read_body(request, KeyBody, kind="invalid-key")
    draft = ApiKeyDraft(
        job_id=body.scope.removeprefix("run:"),
        description=body.description,
        days=body.expires_in_days,
        requests_per_minute=body.requests_per_minute,
        debounce_seconds=body.debounce_seconds,
        debounce_key=body.debounce_key,
        signed=body.signed,
        events=frozenset(body.events),
        deduplicate_key=body.deduplicate_key,
    )
    asked = asdict(draft)
    # Without these fields, the digest is that of earlier releases.
    if events := sorted(asked.pop("events")):
        asked["events"] = events
    if draft.deduplicate_key is None:
        del asked["deduplicate_key"]
    named = request_key(own, asked, "api key")
    try:
        key, text = api.api_keys.create(request.tenant, draft, by=request.principal, request=named)
    except ApiKeyQuotaError:
        raise Problem("key-quota", f"The tenant has {MAX_KEYS} keys, the maximum; revoke a key first.") from None
    answer: CreatedKeyAnswer = {**_document(key), "key": text.text, "path": f"/v1/hooks/{text.text}", "secret": None}
    if key.salt is not None:
        answer["secret"] = text.secret(key.salt)
    facts = {"key_id": key.id, "job_id": key.job_id}
    return Answer(HTTPStatus.CREATED, "key_created", answer, {"location": f"/v1/keys/{key.id}"}, facts)


@route("GET", "/v1/keys", "keys", {200: KeysAnswer})
def list_keys(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List API keys.

    Also lists keys that expired less than 30 days ago.
    """
    items = [_document(key) for key in api.api_keys.all(request.tenant)]
    return Answer(HTTPStatus.OK, "keys_listed", KeysAnswer(items=items), facts={"items": len(items)})


@route("DELETE", "/v1/keys/<key_id>", "keys", {204: None}, problems=("unknown-key",))
def delete_key(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Revoke an API key.

    The key can no longer start runs.
    """
    key_id = unquote(parameters["key_id"])
    try:
        key = api.api_keys.revoke(request.tenant, key_id, by=request.principal)
    except ApiKeyUnknownError:
        raise Problem("unknown-key", f'There is no key "{shortened(key_id)}".') from None
    return Answer(HTTPStatus.NO_CONTENT, "key_revoked", facts={"key_id": key.id, "job_id": key.job_id})


_HOOK: Mapping[str, Any] = {
    "by_key": True,
    "only_for": frozenset(),
    "headers": ("Idempotency-Key",),
    "problems": ("unknown-job", "invalid-command", "idempotency-key-reused", "lane-unavailable", "run-quota"),
}


@route("POST", "/v1/hooks/<key>", "keys", {202: TriggeredAnswer, 204: None}, **_HOOK)
def trigger(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Start a run with a trigger URL.

    The URL contains an API key, so treat it like a password. The body is the payload of the run; its text is not read
    as a template. Without a body, the run has the payload of the job. `Webhook-Id` and `X-GitHub-Delivery` count as
    `Idempotency-Key`. A key that was created as `signed` needs the header `X-Hub-Signature-256`: `sha256=` and the
    HMAC-SHA256 (hex) of the body with the key's secret. A request whose `X-GitHub-Event` is `ping`, or not one of the
    key's `events`, gets 204 and starts no run.
    """
    return _run(api, request)


@route("POST", "/v1/hooks", "keys", {202: TriggeredAnswer, 204: None}, **_HOOK)
def trigger_with_header(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Start a run with an API key.

    Works like the trigger URL, but the key is in the header `Authorization: Bearer <key>`.
    """
    return _run(api, request)


def opened(api: Api, request: Request, parameters: Mapping[str, str]) -> Request:
    """Return the request with its key, and the key's tenant. Raises Problem: 401 without a valid key or the signature
    that it requires, 429 with `retry-after` if the key's limit is reached.
    """
    if (text := parameters.get("key")) is None:
        scheme, _, text = (request.authorization or "").partition(" ")
        text = text.strip() if scheme.lower() == "bearer" else ""
    try:
        key = api.api_keys.opened(unquote(text), request.raw, request.headers.get(SIGNATURE, ""))
    except BadApiKeyError:
        detail = "The API key does not exist, was revoked or has expired; use a valid key."
        raise Problem("bad-key", detail, headers={"www-authenticate": "Bearer"}) from None
    except SignatureError:
        detail = (
            "X-Hub-Signature-256 is missing or does not match the body; sign the body with the secret of the API key."
        )
        raise Problem("bad-signature", detail, headers={"www-authenticate": "Bearer"}) from None
    except ApiKeyRateError as error:
        seconds = retry_after(error.wait)
        limit = f"{error.key.requests_per_minute} requests per minute are allowed with this key"
        raise later("too-many-requests", f"Too many requests: {limit}. Try again in {seconds} s.", seconds) from None
    return replace(request, tenant=key.tenant, principal=key.principal, key=key)


def _run(api: Api, request: Request) -> Answer:
    key = request.key
    assert key is not None  # noqa: S101 - the application has opened it
    job = api.api_keys.job(key)
    event = request.headers.get(EVENT)
    if not key.heeds(event):
        if event is None:
            raise Problem("invalid-command", "The key accepts only some events; name the event in X-GitHub-Event.")
        ignored = {"job_id": job.id, "key_id": key.id, "event": shortened(event)}
        return Answer(HTTPStatus.NO_CONTENT, "event_ignored", facts=ignored)
    own = _own_payload(api, request, job)
    try:
        run = api.api_keys.run(key, job, own, _name_of(request), request.correlation_id)
    except TemplateError as error:
        raise invalid(
            [FieldFault(f"lacks a value for a template of the API key: {error}", "")], "invalid-command"
        ) from None
    facts = {"job_id": job.id, "run_id": run.run_id, "key_id": key.id, "own_payload": own is not None}
    answer: TriggeredAnswer = {
        "id": run.run_id,
        "job_id": job.id,
        "due": to_iso(run.due),
        "requested_by": key.principal,
    }
    return Answer(HTTPStatus.ACCEPTED, "run_triggered", answer, {"location": f"/v1/runs/{run.name}"}, facts)


def _own_payload(api: Api, request: Request, job: Job) -> OwnPayload | None:
    """Return the body as a payload; None if there is no body. Raises the Problems of Request.json, and 422 for a value
    that cannot be a payload.
    """
    if not request.body:
        return None
    value = request.json()
    faults = list(unfit({"payload": value}))
    own = OwnPayload(value if faults else literal_payload(job, value))
    if faults := faults or payload_faults_of(api, job, own):
        raise invalid(list(_at_root(faults)), "invalid-command")
    return own


def _at_root(faults: list[FieldFault]) -> Iterator[FieldFault]:
    for fault in faults:
        yield replace(fault, pointer=(fault.pointer or "").removeprefix("/payload"))


def _name_of(request: Request) -> str | None:
    """Return the sender's name of the request. A header of the sender with an invalid value is ignored."""
    if IDEMPOTENCY_KEY in request.headers:
        return read_key(request)
    for header in SENDERS_KEYS:
        if found := request.headers.get(header):
            return f"{header} {found[:255]}".encode(errors="replace").decode()  # without unpaired surrogates
    return None


def _document(key: ApiKey) -> KeyAnswer:
    return {
        "id": key.id,
        "scope": f"run:{key.job_id}",
        "description": key.description,
        "created_at": millisecond(key.created_at),
        "created_by": key.created_by,
        "expires_at": to_iso(key.valid_until),
        "last_used_at": millisecond(key.last_used_at),
        "requests_per_minute": key.requests_per_minute,
        "debounce_seconds": key.debounce_seconds,
        "debounce_key": key.debounce_key,
        "deduplicate_key": key.deduplicate_key,
        "signed": key.salt is not None,
        "events": sorted(key.events),
    }
