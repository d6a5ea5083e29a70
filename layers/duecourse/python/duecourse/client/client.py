"""The client, for programs that wait for each response.

with Client("https://abc.execute-api.eu-central-1.amazonaws.com") as duecourse:
    duecourse.create_job({"schedule": "0 9 * * 1", "target": {"type": "http", "url": "https://..."}})
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import random
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar

import httpx

from duecourse.client.access import access
from duecourse.client.calls import (
    DELETED,
    DIRECT,
    ApiAnswer,
    Call,
    Failure,
    deleted_before,
    understood,
    unreachable,
    wait_before_next,
)
from duecourse.client.deadline import Deadline
from duecourse.client.errors import NOT_OURS, ApiError, ApiUnreachableError, problem_of
from duecourse.client.methods import Methods
from duecourse.client.pagination import Page, Total
from duecourse.client.reading import Answer
from duecourse.client.signing import identified

TIMEOUT_SECONDS = 30.0
RETRIES = 4

A = TypeVar("A", bound=Answer)


class Client(Methods):
    """Calls one Duecourse API. Every method can raise ApiUnreachableError and ApiError (or a subclass: NotFoundError,
    InvalidError, …). Instances are safe to share between threads.

    Requests that are safe to repeat are retried up to `retries` times if there is no response, the stage is busy or a
    limit is reached. The client waits for `Retry-After`. Each POST has an idempotency key, so that it takes effect
    once.
    """

    def __init__(
        self,
        api: str,
        *,
        auth: httpx.Auth | None = None,
        key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
        trust_env: bool = True,
        wait: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`auth` identifies the caller (`signing.Bearer`, `signing.SigV4`), or `key`, an API key with scopes. `timeout`
        (seconds) limits each try as a whole, from the connection to the last byte of the response. `wait` sleeps before
        a retry. `clock` (seconds) measures the timeout. Raises ValueError for an invalid `key`.
        """
        self.api = api.rstrip("/")
        auth, self._prefix = identified(auth, key)
        self._http = httpx.Client(auth=auth, timeout=timeout, transport=transport, trust_env=trust_env, mounts=DIRECT)
        self._timeout = timeout
        self._retries = retries
        self._wait = wait
        self._clock = clock

    @classmethod
    def from_env(cls, profile: str | None = None, **more: Any) -> Self:
        """Return a client for the API in the environment (DUECOURSE_API, DUECOURSE_TOKEN, DUECOURSE_API_KEY) or in a
        profile; see `access`. `auth` or `key` in `more` replaces what is found.
        """
        found = access(profile)
        own = {} if more.get("auth") or more.get("key") else {"auth": found.auth(), "key": found.key}
        return cls(found.api, **{**own, **more})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def call(self, method: str, path: str, *, json: object = None, **more: Any) -> Mapping[str, Any]:
        """Return the response to any request: `call("GET", "stats")`. `more` has further fields of `Call`."""
        return self.send(Call(method, path, body=json, **more)).document

    def send(self, call: Call) -> ApiAnswer:
        """Return the response to one request. Raises ApiError and ApiUnreachableError; TypeError or ValueError if the
        body cannot be written as JSON.
        """
        given, failures = call.request(self.api, self._prefix), list[Failure]()
        while True:
            try:
                return self._once(call, given)
            except (ApiError, ApiUnreachableError) as failure:
                failures.append(failure)
                if deleted_before(call, failures):
                    return DELETED
                wait = wait_before_next(call, failures, self._retries, random())  # noqa: S311 - jitter
                if wait is None:
                    raise
            self._wait(wait)

    def _once(self, call: Call, given: Mapping[str, Any]) -> ApiAnswer:
        deadline = Deadline(self._timeout, self._clock)
        try:
            request = self._http.build_request(**given, extensions=deadline.extensions)
            auth = httpx.USE_CLIENT_DEFAULT if call.token is None else None
            return understood(deadline.read(self._http.send(request, auth=auth, stream=True)))
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise unreachable(self.api, error) from error

    def _send(self, call: Call, answer: type[A]) -> A:
        return model(self.send(call), answer)

    def _page(self, call: Call, item: type[A]) -> Page[A]:
        return Page(**page(self.send(call), item), turn=lambda next_: self._page(at_cursor(call, next_), item))


def model(answer: ApiAnswer, kind: type[A]) -> A:
    """Return the model of a response. Raises ApiError if the document does not match the model."""
    return _read(answer, lambda: kind.from_document(answer.document, etag=answer.etag, answered_at=answer.at))


class PageParts(TypedDict, Generic[A]):
    """The fields of a page that are in its document."""

    items: tuple[A, ...]
    next_cursor: str | None
    total: Total | None
    complete: bool | None
    unreadable: tuple[str, ...]


def page(answer: ApiAnswer, kind: type[A]) -> PageParts[A]:
    """Return the contents of a page. Raises ApiError if the document is not a page."""

    def read() -> PageParts[A]:
        document = answer.document
        total = document.get("total")
        return {
            "items": tuple(map(kind.from_document, document["items"])),
            "next_cursor": document.get("next_cursor"),
            "total": total and Total(total["matching"], total["searched"], total["complete"]),
            "complete": document.get("complete"),
            "unreadable": tuple(document.get("unreadable", ())),
        }

    return _read(answer, read)


def at_cursor(call: Call, cursor: str) -> Call:
    """Return the call that reads the page at a cursor. Only the first page of a list has its total."""
    return replace(call, query={**call.query, "cursor": cursor, "total": None})


T = TypeVar("T")


def _read(answer: ApiAnswer, read: Callable[[], T]) -> T:
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        told = f"{NOT_OURS} ({type(error).__name__}: {error})"
        raise ApiError(answer.status, problem_of(answer.status, told)) from error
