"""API keys: each lets a system without a login start runs of one job, or call the API with scopes.

A key is `dck_<tenant>.<secret><check>`. It contains the tenant, so that one read finds it. Only its hash is stored. Its
id is the beginning of the hash. The check is a checksum, so that an invented key is refused without a read. Keys of
earlier releases have no check: they are shorter than CHECKED_CHARACTERS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest, digest
from typing import Any

from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.instants import DAY_SECONDS
from duecourse.domain.runs.rendering import group_key
from duecourse.domain.tenants.rate import BucketRules

KEY_PATTERN = rf"dck_{ID_PATTERN}\.[A-Za-z0-9_-]{{12,64}}"
KEY_ID_PATTERN = "[0-9a-f]{16}"

_KEY = re.compile(rf"dck_(?P<tenant>{ID_PATTERN})\.(?P<secret>[A-Za-z0-9_-]{{12,64}})")
_ID_CHARACTERS = 16
_CHECK_CHARACTERS = 8

CHECKED_CHARACTERS = 32 + _CHECK_CHARACTERS
"""The number of characters after the tenant from which on a key must have a valid check."""

MAX_KEYS = 100
"""The maximum number of keys of a tenant."""

MAX_KEY_SCOPES = 20
"""The maximum number of scopes of a key."""

DEFAULT_DAYS, MAX_DAYS = 90, 366
DEFAULT_PER_MINUTE, MAX_PER_MINUTE = 60, 6000
MAX_DEBOUNCE_SECONDS = 3600

PING = "ping"
"""The event that GitHub sends when a webhook is created."""

EVENT_PATTERN = "[A-Za-z0-9_. -]{1,64}"
MAX_EVENTS = 20

LISTED_DAYS = 30
"""How many days an expired key is still listed."""

NOTED_SECONDS = 3600
"""The precision of a key's last use: it is written at most once in this time."""


class KeyTextError(ValueError):
    """The text is not an API key."""


@dataclass(frozen=True, slots=True)
class KeyText:
    """The text of a key, which only its holder has."""

    tenant: str
    text: str

    @property
    def hash(self) -> str:
        """The hash that is stored."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def id(self) -> str:
        """The id of the key."""
        return self.hash[:_ID_CHARACTERS]

    def secret(self, salt: str) -> str:
        """The secret with which the holder signs requests. It is derived from the text and the stored salt: the text,
        which is part of the URL, does not suffice, and neither do the stored data.
        """
        return digest(salt.encode(), self.text.encode(), "sha256").hex()

    def __repr__(self) -> str:
        return f"KeyText({self.tenant!r}, …)"


def key_text(tenant: str, secret: str) -> KeyText:
    """Return the text of a new key. `secret` has at least 192 random bits in 32 characters."""
    text = f"dck_{tenant}.{secret}"
    return KeyText(tenant, text + _check(text))


def read_key_text(text: str) -> KeyText:
    """Parse a key. Raises KeyTextError, also if its check is wrong."""
    match = _KEY.fullmatch(text)
    if match is None:
        raise KeyTextError("is not an API key")
    if len(match["secret"]) >= CHECKED_CHARACTERS:
        own, check = text[:-_CHECK_CHARACTERS], text[-_CHECK_CHARACTERS:]
        if not compare_digest(_check(own), check):
            raise KeyTextError("is not an API key: its check is wrong")
    return KeyText(match["tenant"], text)


def _check(text: str) -> str:
    return sha256(f"duecourse key check {text}".encode()).hexdigest()[:_CHECK_CHARACTERS]


def no_job(scopes: frozenset[str]) -> str:
    """Return the `job_id` of a key with these scopes. No id of a job contains a colon."""
    return min(scopes)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key of a tenant, which can start runs of `job_id`, but not of a job that was created later with the same
    id (`job_generation` is the job's `created_generation`).

    A key with `scopes` gives access to the routes of the API instead, and starts no run by itself. Its `job_id` is one
    of the scopes (`no_job`), which no job has as its id. So an earlier release, which does not know scopes, lists and
    revokes the key, but finds no job that it starts.

    Times are UTC seconds. `requests_per_minute` is its own limit, below that of the tenant. With
    `debounce_seconds`, requests with the same `debounce_key` (a template) start one run in a window of this length,
    which the first of them opens. `last_used_at` is at most NOTED_SECONDS old; None: never used. With `salt`,
    requests must be signed. `request` has the digests of the idempotency key and of the body of the request that
    created the key. With `events`, only requests about one of these events of the sender start runs. Requests with
    the same `deduplicate_key` (a template) start one run.
    """

    tenant: str
    id: str
    hash: str
    job_id: str
    job_generation: int
    description: str
    created_at: float
    created_by: str
    valid_until: int
    requests_per_minute: int = DEFAULT_PER_MINUTE
    debounce_seconds: int | None = None
    debounce_key: str | None = None
    last_used_at: float | None = None
    salt: str | None = field(default=None, repr=False)
    request: str | None = None
    events: frozenset[str] = frozenset()
    deduplicate_key: str | None = None
    scopes: frozenset[str] = frozenset()

    @property
    def scope(self) -> str:
        """What the key permits: `run:JOB`, or its scopes with spaces between them."""
        return " ".join(sorted(self.scopes)) or f"run:{self.job_id}"

    @property
    def expires_at(self) -> int:
        """When the stored key is removed (UTC seconds)."""
        return self.valid_until + LISTED_DAYS * DAY_SECONDS

    @property
    def principal(self) -> str:
        """The caller of requests with the key, and the author of the runs that it starts."""
        return f"key:{self.id}"

    @property
    def rules(self) -> BucketRules:
        """The limit of its requests: all requests of a minute may arrive at the same time."""
        return BucketRules(self.requests_per_minute / 60, self.requests_per_minute)

    def opens(self, text: KeyText, now: float) -> bool:
        """Return whether the text is this key, and the key is valid at `now` (UTC seconds). The comparison takes
        constant time.
        """
        return compare_digest(self.hash, text.hash) and now < self.valid_until

    def accepts(self, text: KeyText, body: bytes, signature: str) -> bool:
        """Return whether `signature` is `sha256=` and the HMAC (hex) of the body with the key's secret. The comparison
        takes constant time.
        """
        wanted = digest(text.secret(self.salt or "").encode(), body, "sha256").hex()
        return compare_digest(f"sha256={wanted}".encode(), signature.encode(errors="surrogatepass"))

    def named(self, digest: str, now: float) -> bool:
        """Return whether a request with the idempotency key of this digest created the key in the day before `now` (UTC
        seconds).
        """
        return self.request is not None and self.request.startswith(digest) and now - self.created_at < DAY_SECONDS

    def heeds(self, event: str | None) -> bool:
        """Return whether a request about this event of the sender starts a run. None: it names no event. A ping only
        checks the connection.
        """
        return event != PING and (not self.events or event in self.events)

    def is_noted(self, now: float) -> bool:
        """Return whether the last use that is stored is recent enough at `now` (UTC seconds)."""
        return self.last_used_at is not None and now - self.last_used_at < NOTED_SECONDS

    def deduplicated(self, payload: Any) -> str | None:
        """Return what is the same in all requests that repeat one with this payload; None without `deduplicate_key`.
        Raises TemplateError if the payload lacks a field of the template.
        """
        return None if self.deduplicate_key is None else group_key(self.deduplicate_key, self.job_id, payload)

    def debounced(self, payload: Any) -> str | None:
        """Return the name of the requests that are debounced together with one with this payload; None if each request
        starts a run. Raises TemplateError if the payload lacks a field of the template.
        """
        if self.debounce_seconds is None:
            return None
        return f"{self.id} {group_key(self.debounce_key or '{{job_id}}', self.job_id, payload)}"
