"""The routes of API keys, and the trigger URLs that start runs with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
from duecourse.api.identity import READ, WRITE, includes, insufficient_scope
from duecourse.api.problems import FieldFault, Problem, invalid, later, shortened
from duecourse.api.request import IDEMPOTENCY_KEY, Request, read_key, request_key
from duecourse.api.routes.manual import payload_faults_of
from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.instants import millisecond, to_iso
from duecourse.domain.jobs.job import MAX_DESCRIPTION, TAG_PATTERN, Job
from duecourse.domain.runs.api_keys import (
    DEFAULT_DAYS,
    DEFAULT_PER_MINUTE,
    EVENT_PATTERN,
    KEY_ID_PATTERN,
    KEY_PATTERN,
    MAX_DAYS,
    MAX_DEBOUNCE_SECONDS,
    MAX_EVENTS,
    MAX_KEY_SCOPES,
    MAX_KEYS,
    MAX_PER_MINUTE,
    ApiKey,
    no_job,
)
from duecourse.domain.runs.rendering import literal_payload
from duecourse.domain.targets.template import TemplateError
from duecourse.domain.tenants.rate import retry_after
from duecourse.usecases.runs.api_keys import (
    ApiKeyDraft,
    ApiKeyQuotaError,
    ApiKeyRateError,
    ApiKeyScopeError,
    ApiKeyUnknownError,
    BadApiKeyError,
    SignatureError,
)
from duecourse.usecases.runs.requests import OwnPayload

_ONE = f"jobs:(?:read|write)(?::tag={TAG_PATTERN})?"
SCOPE_PATTERN = f"(?:run:{ID_PATTERN}|{_ONE}(?: {_ONE}){{0,{MAX_KEY_SCOPES - 1}}})"
RUNS = "run:"
"""The prefix of the scope of a key that starts runs of a job."""

PERMITS = (
    f"What the key permits: run:JOB, or up to {MAX_KEY_SCOPES} scopes with spaces between them, such as "
    "`jobs:read jobs:write:tag=billing`."
)
SENDERS_KEYS = ("webhook-id", "x-github-delivery")
"""Headers in which common senders name a request. They count as Idempotency-Key."""

BY_KEY = "/key"
"""The prefix of the paths at which the API accepts a key with scopes instead of a token (`api.keyed`)."""

SIGNATURE = "x-hub-signature-256"
EVENT = "x-github-event"
"""The header in which GitHub, Gitea and Forgejo name the event of a webhook."""

Scope = Annotated[str, Field(pattern=f"^{SCOPE_PATTERN}$", description=PERMITS)]


def _scope(scope: str) -> str:
    if re.fullmatch(SCOPE_PATTERN, scope) is None:
        raise refuse(
            'must be "run:" and the id of a job, such as run:nightly, or jobs:read or jobs:write, such as jobs:read '
            f"jobs:write:tag=billing (at most {MAX_KEY_SCOPES}, with a space between two)"
        )
    return scope


class KeyBody(Body):
    """A key to create."""

    scope: Annotated[
        str,
        Field(description=PERMITS, json_schema_extra={"pattern": f"^{SCOPE_PATTERN}$"}),
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

    @field_validator("debounce_seconds", "debounce_key", "deduplicate_key", "signed", "events")
    @classmethod
    def _for_runs(cls, value: Any, info: ValidationInfo) -> Any:
        if value and not info.data.get("scope", RUNS).startswith(RUNS):
            raise refuse("requires a key with the scope run:JOB; change scope, or remove this field")
        return value

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
    path: Annotated[
        str,
        Field(
            description="With run:JOB, the path of the trigger URL, which contains the key. With other scopes, the "
            "prefix of the paths at which the API accepts the key."
        ),
    ]
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
    without_keys=True,
)
def create_key(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """Create an API key.

    With the scope `run:JOB`, the key starts runs of one job. With other scopes, which the caller must have, it replaces
    a token: send it as `Authorization: Bearer <key>` to the paths below `/key`, such as `GET /key/v1/jobs`. Only its
    hash is stored, so this response is the only one that contains the key. A repeated request with the same
    `Idempotency-Key` replaces the first API key.
    """
    own = read_key(request)
    body = read_body(request, KeyBody, kind="invalid-key")
    scopes = frozenset[str]() if body.scope.startswith(RUNS) else frozenset(body.scope.split())
    if beyond := frozenset(scope for scope in scopes if not includes(request.scopes, scope)):
        fault = FieldFault(
            f"must have only scopes that you have; you do not have {', '.join(sorted(beyond))}", "/scope"
        )
        raise insufficient_scope(f"The scope of the key {fault.detail}.", beyond, [fault])
    draft = ApiKeyDraft(
        job_id=no_job(scopes) if scopes else body.scope.removeprefix(RUNS),
        description=body.description,
        days=body.expires_in_days,
        requests_per_minute=body.requests_per_minute,
        debounce_seconds=body.debounce_seconds,
        debounce_key=body.debounce_key,
        signed=body.signed,
        events=frozenset(body.events),
        deduplicate_key=body.deduplicate_key,
        scopes=scopes,
    )
    asked = asdict(draft)
    # Without these fields, the digest is that of earlier releases.
    if events := sorted(asked.pop("events")):
        asked["events"] = events
    if wanted := sorted(asked.pop("scopes")):
        asked["scopes"] = wanted
    if draft.deduplicate_key is None:
        del asked["deduplicate_key"]
    named = request_key(own, asked, "api key")
    try:
        key, text = api.api_keys.create(request.tenant, draft, by=request.principal, request=named)
    except ApiKeyQuotaError:
        raise Problem("key-quota", f"The tenant has {MAX_KEYS} keys, the maximum; revoke a key first.") from None
    path = BY_KEY if key.scopes else f"/v1/hooks/{text.text}"
    answer: CreatedKeyAnswer = {**_document(key), "key": text.text, "path": path, "secret": None}
    if key.salt is not None:
        answer["secret"] = text.secret(key.salt)
    return Answer(HTTPStatus.CREATED, "key_created", answer, {"location": f"/v1/keys/{key.id}"}, _facts(key))


@route("GET", "/v1/keys", "keys", {200: KeysAnswer}, without_keys=True)
def list_keys(api: Api, request: Request, _parameters: Mapping[str, str]) -> Answer:
    """List API keys.

    Also lists keys that expired less than 30 days ago.
    """
    items = [_document(key) for key in api.api_keys.all(request.tenant)]
    return Answer(HTTPStatus.OK, "keys_listed", KeysAnswer(items=items), facts={"items": len(items)})


@route("DELETE", "/v1/keys/<key_id>", "keys", {204: None}, problems=("unknown-key",), without_keys=True)
def delete_key(api: Api, request: Request, parameters: Mapping[str, str]) -> Answer:
    """Revoke an API key.

    The next request with the key gets 401.
    """
    key_id = unquote(parameters["key_id"])
    try:
        key = api.api_keys.revoke(request.tenant, key_id, by=request.principal)
    except ApiKeyUnknownError:
        raise Problem("unknown-key", f'There is no key "{shortened(key_id)}".') from None
    return Answer(HTTPStatus.NO_CONTENT, "key_revoked", facts=_facts(key))


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
    that it requires, 403 for a key that starts no runs, 429 with `retry-after` if the key's limit is reached.
    """
    if (text := parameters.get("key")) is None:
        text = bearer(request)
    with key_problems():
        key = api.api_keys.opened(unquote(text), request.raw, request.headers.get(SIGNATURE, ""))
    return replace(request, tenant=key.tenant, principal=key.principal, key=key)


def bearer(request: Request) -> str:
    """Return the text after `Bearer` in the header Authorization, or an empty text."""
    scheme, _, text = (request.authorization or "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


@contextmanager
def key_problems() -> Iterator[None]:
    """Raise the Problem for each error of a request's key: 401, 403 or 429."""
    try:
        yield
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
    except ApiKeyScopeError as error:
        if not error.key.scopes:  # the holder of the URL of a signed key does not learn its job
            detail = "The API key has the scope run:JOB, and is only for POST /v1/hooks; use a key with other scopes."
            raise insufficient_scope(detail, frozenset({READ, WRITE})) from None
        own = f"this key has {error.key.scope}, for paths below {BY_KEY}/v1"
        detail = f"A trigger needs an API key with the scope run:JOB; {own}."
        raise insufficient_scope(detail, frozenset({"run:JOB"})) from None


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


def _facts(key: ApiKey) -> Mapping[str, object]:
    return {"key_id": key.id, **({"scope": key.scope} if key.scopes else {"job_id": key.job_id})}


def _document(key: ApiKey) -> KeyAnswer:
    return {
        "id": key.id,
        "scope": key.scope,
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
