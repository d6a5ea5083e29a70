"""API keys: create, list and revoke them, start runs with them, and recognize callers by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from duecourse.domain.instants import CLOCKS_DIFFER_SECONDS, DAY_SECONDS, to_iso
from duecourse.domain.jobs.document import ChangeAction, asked
from duecourse.domain.jobs.job import Job
from duecourse.domain.runs.api_keys import (
    DEFAULT_DAYS,
    DEFAULT_PER_MINUTE,
    KEY_ID_PATTERN,
    MAX_KEYS,
    ApiKey,
    KeyText,
    KeyTextError,
    key_text,
    read_key_text,
)
from duecourse.domain.runs.states import Run
from duecourse.limits import LOST_RACES
from duecourse.ports import StoreBusyError
from duecourse.usecases.jobs.change import RequestKey
from duecourse.usecases.jobs.job_errors import JobUnknownError, KeyReusedError
from duecourse.usecases.runs.requests import Later, Manual, OwnPayload, Repeats, RunRequest, can_change
from duecourse.usecases.tenants import Limits

if TYPE_CHECKING:
    from duecourse.settings import TableSettings
    from duecourse.usecases.parts import Parts


class ApiKeyUnknownError(Exception):
    """The tenant has no key with this id."""


class ApiKeyQuotaError(Exception):
    """The tenant has MAX_KEYS keys."""


class BadApiKeyError(Exception):
    """The text is not a key, or the key was revoked or has expired."""


class ApiKeyScopeError(Exception):
    """The key is valid, but not for this kind of request."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__(key.id)
        self.key = key


class SignatureError(Exception):
    """The key requires signed requests, and the signature is missing or wrong."""


class ApiKeyRateError(Exception):
    """The key has used up its requests; the next one is admitted after `wait` seconds."""

    def __init__(self, key: ApiKey, wait: float) -> None:
        super().__init__(key.id)
        self.key, self.wait = key, wait


@dataclass(frozen=True, slots=True)
class ApiKeyDraft:
    """A key to create. The fields are those of ApiKey. With `scopes`, `job_id` is `no_job`."""

    job_id: str
    description: str = ""
    days: int = DEFAULT_DAYS
    requests_per_minute: int = DEFAULT_PER_MINUTE
    debounce_seconds: int | None = None
    debounce_key: str | None = None
    signed: bool = False
    events: frozenset[str] = frozenset()
    deduplicate_key: str | None = None
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """Writes and reads keys. The history of a job has a record of each key that was created or revoked for it. A key
    with scopes has no job and no record.
    """

    parts: Parts[TableSettings]
    manual: Manual
    limits: Limits

    def create(
        self, tenant: str, draft: ApiKeyDraft, *, by: str, request: RequestKey | None = None
    ) -> tuple[ApiKey, KeyText]:
        """Create a key. Return it with its text, which cannot be read again. The key of a repeated `request` replaces
        the first one, whose text may not have arrived. Raises JobUnknownError, ApiKeyQuotaError, KeyReusedError, or
        StoreBusyError (also if a repetition of the request has just been answered).
        """
        generation = 0
        if not draft.scopes:
            job = self.parts.jobs.get(tenant, draft.job_id)
            if job is None:
                raise JobUnknownError(draft.job_id)
            generation = job.created_generation
        earlier = frozenset[str]()
        for attempt in range(LOST_RACES):
            now, standing = self.parts.clock.now(), self.parts.jobs.api_keys.all(tenant)
            if attempt == 0:
                earlier = frozenset(key.id for key in standing.items)
            first = None
            if request is not None:
                first = next((key for key in standing.items if key.named(request.digest, now)), None)
                if first is not None and first.request != _stored(request):
                    raise KeyReusedError
                if first is not None and first.id not in earlier:
                    break  # A repetition of this request has returned this key, so its caller may use it.
            if first is None and len(standing.items) >= MAX_KEYS:
                raise ApiKeyQuotaError
            text = key_text(tenant, self._secret())
            key = ApiKey(
                tenant=tenant,
                id=text.id,
                hash=text.hash,
                job_id=draft.job_id,
                job_generation=generation,
                description=draft.description,
                created_at=now,
                created_by=by,
                valid_until=int(now) + draft.days * DAY_SECONDS,
                requests_per_minute=draft.requests_per_minute,
                debounce_seconds=draft.debounce_seconds,
                debounce_key=draft.debounce_key,
                salt=self._secret() if draft.signed else None,
                request=None if request is None else _stored(request),
                events=draft.events,
                deduplicate_key=draft.deduplicate_key,
                scopes=draft.scopes,
            )
            added = self.parts.jobs.api_keys.add(key, standing.version, None if first is None else first.id)
            # If the first response is lost, the repeated write finds the key.
            if added or self.parts.jobs.api_keys.get(tenant, key.id) == key:
                if first is not None:
                    self._note(ChangeAction.KEY_REVOKED, first, by)
                self._note(ChangeAction.KEY_CREATED, key, by, expires_at=to_iso(key.valid_until))
                return key, text
        raise StoreBusyError("the keys")

    def all(self, tenant: str) -> Sequence[ApiKey]:
        """Return the tenant's keys, newest first."""
        return sorted(self.parts.jobs.api_keys.all(tenant).items, key=lambda key: (-key.created_at, key.id))

    def revoke(self, tenant: str, key_id: str, *, by: str) -> ApiKey:
        """Delete the key, so that it is no longer valid, and return it. Raises ApiKeyUnknownError."""
        # DynamoDB refuses sort keys above 1,024 bytes.
        key = self.parts.jobs.api_keys.get(tenant, key_id) if re.fullmatch(KEY_ID_PATTERN, key_id) else None
        if key is None:
            raise ApiKeyUnknownError(key_id)
        self._note(ChangeAction.KEY_REVOKED, key, by)
        self.parts.jobs.api_keys.delete(tenant, key_id)
        return key

    def opened(self, text: str, body: Callable[[], bytes], signature: str) -> ApiKey:
        """Return the valid key with this text, which starts runs, and take a request from its limit. `body` is called,
        and `signature` compared, only for a key that requires signed requests. Raises BadApiKeyError, ApiKeyScopeError
        (the key has scopes), SignatureError, ApiKeyRateError, or the errors of `body`.
        """
        given, key = self._valid(text)
        if key.scopes:
            raise ApiKeyScopeError(key)
        # Requests of a caller who has only the URL take nothing from the limit.
        if key.salt is not None and not key.accepts(given, body(), signature):
            raise SignatureError
        return self._admitted(key)

    def caller(self, text: str) -> ApiKey:
        """Return the valid key with this text, which has scopes, and take a request from its limit. Raises
        BadApiKeyError, ApiKeyScopeError (the key starts runs) and ApiKeyRateError.
        """
        _, key = self._valid(text)
        if not key.scopes:
            raise ApiKeyScopeError(key)
        return self._admitted(key)

    def check(self, text: str) -> None:
        """Raise BadApiKeyError if this is not the text of a valid key. Takes nothing from its limit."""
        self._valid(text)

    def _valid(self, text: str) -> tuple[KeyText, ApiKey]:
        """Return the key with this text. An invented key causes no read. Raises BadApiKeyError."""
        try:
            given = read_key_text(text)
        except KeyTextError:
            raise BadApiKeyError from None
        key = self.parts.jobs.api_keys.get(given.tenant, given.id)
        if key is None or not key.opens(given, self.parts.clock.now()):
            raise BadApiKeyError
        return given, key

    def _admitted(self, key: ApiKey) -> ApiKey:
        now = self.parts.clock.now()
        # The bucket has the name of the tenant and the key, so it belongs to the tenant's items.
        wait = replace(self.limits, rules=key.rules).admit(f"{key.tenant}#{key.id}")
        if wait is not None:
            raise ApiKeyRateError(key, wait)
        if not key.is_noted(now):
            self.parts.jobs.api_keys.note_use(key, now)
        return key

    def job(self, key: ApiKey) -> Job:
        """Return the job that the key starts. Raises JobUnknownError, also if the job was deleted and created again."""
        job = self.parts.jobs.get(key.tenant, key.job_id)
        if job is None or job.created_generation != key.job_generation:
            raise JobUnknownError(key.job_id)
        return job

    def run(self, key: ApiKey, job: Job, given: OwnPayload | None, own: str | None, correlation_id: str) -> Run:
        """Start a run of the job, now or at the end of the key's window. `own` is the sender's name of the request: a
        request with the same name has no further effect. Raises TemplateError if the payload lacks a field of a
        template of the key, and the errors of Manual.run.
        """
        payload: Any = job.payload if given is None else given.payload
        if key.debounce_seconds is not None and (group := key.debounced(payload)) is not None:
            return self._debounced(key, job, OwnPayload(payload), group, key.debounce_seconds, correlation_id)
        if (value := key.deduplicated(payload)) is not None:
            request = RunRequest(key.principal, f"hook {key.id} value {value}", correlation_id)
            return self.manual.run(job, request, given, repeats=Repeats.FIRST_PAYLOAD)
        named = None if own is None else f"hook {key.id} {own}"
        return self.manual.run(job, RunRequest(key.principal, named, correlation_id), given)

    def _debounced(
        self, key: ApiKey, job: Job, given: OwnPayload, group: str, seconds: int, correlation_id: str
    ) -> Run:
        """Return the run of the group's window, which gets this payload. The first request opens the window.

        The payload was delivered if it was written when the run had not started on any clock. Otherwise (the window
        has ended, or the run was cancelled or rescheduled) this request also opens the next window.
        """
        windows = self.parts.inputs
        closed: int | None = None
        for _ in range(LOST_RACES):
            opened = windows.window_end(job.tenant, job.id, group)
            if opened is None or opened == closed or self.parts.clock.now() >= opened:
                end = max(ceil(self.parts.clock.now()) + seconds, (opened or 0) + 1)
                if not windows.open_window(job.tenant, job.id, group, end, instead_of=opened):
                    continue
                opened = end
            request = RunRequest(key.principal, f"debounce {group} {opened}", correlation_id)
            run = self.manual.run(
                job, request, given, Later(at=opened + CLOCKS_DIFFER_SECONDS), repeats=Repeats.LAST_PAYLOAD
            )
            if can_change(run, self.parts.clock.now()):
                return run
            closed = opened
        raise StoreBusyError("the window of the requests")

    def _secret(self) -> str:
        return self.parts.randomness.nonce() + self.parts.randomness.nonce()

    def _note(self, what: ChangeAction, key: ApiKey, by: str, **facts: object) -> None:
        if key.scopes:
            return
        at = self.parts.clock.now()
        record = asked(what, (key.tenant, key.job_id), by, at, f"{key.id}-{what}", None, key_id=key.id, **facts)
        self.parts.jobs.note([record])


def _stored(request: RequestKey) -> str:
    return f"{request.digest} {request.request}"
