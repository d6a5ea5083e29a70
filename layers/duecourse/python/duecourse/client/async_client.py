"""The client, for programs on asyncio.

async with AsyncClient("https://abc.execute-api.eu-central-1.amazonaws.com") as duecourse:
    await duecourse.create_job({"schedule": "0 9 * * 1", "target": {"type": "http", "url": "https://..."}})
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import random
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from duecourse.client.access import access
from duecourse.client.async_methods import AsyncMethods
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
from duecourse.client.client import RETRIES, TIMEOUT_SECONDS, at_cursor, model, page
from duecourse.client.errors import ApiError, ApiUnreachableError
from duecourse.client.pagination import AsyncPage
from duecourse.client.reading import Answer
from duecourse.client.signing import identified

A = TypeVar("A", bound=Answer)


class AsyncClient(AsyncMethods):
    """`Client` with `await`: the same methods, responses, errors and retries."""

    def __init__(
        self,
        api: str,
        *,
        auth: httpx.Auth | None = None,
        key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
        trust_env: bool = True,
        wait: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """The parameters are those of `Client`."""
        self.api = api.rstrip("/")
        auth, self._prefix = identified(auth, key)
        self._http = httpx.AsyncClient(
            auth=auth, timeout=timeout, transport=transport, trust_env=trust_env, mounts=DIRECT
        )
        self._timeout = timeout
        self._retries = retries
        self._wait = wait

    @classmethod
    def from_env(cls, profile: str | None = None, **more: Any) -> Self:
        """Return a client for the API in the environment (DUECOURSE_API, DUECOURSE_TOKEN, DUECOURSE_API_KEY) or in a
        profile; see `access`. `auth` or `key` in `more` replaces what is found.
        """
        found = access(profile)
        own = {} if more.get("auth") or more.get("key") else {"auth": found.auth(), "key": found.key}
        return cls(found.api, **{**own, **more})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def call(self, method: str, path: str, *, json: object = None, **more: Any) -> Mapping[str, Any]:
        """Return the response to any request: `call("GET", "stats")`. `more` has further fields of `Call`."""
        return (await self.send(Call(method, path, body=json, **more))).document

    async def send(self, call: Call) -> ApiAnswer:
        """Return the response to one request. Raises ApiError and ApiUnreachableError; TypeError or ValueError if the
        body cannot be written as JSON.
        """
        given, failures = call.request(self.api, self._prefix), list[Failure]()
        while True:
            try:
                return await self._once(call, given)
            except (ApiError, ApiUnreachableError) as failure:
                failures.append(failure)
                if deleted_before(call, failures):
                    return DELETED
                wait = wait_before_next(call, failures, self._retries, random())  # noqa: S311 - jitter
                if wait is None:
                    raise
            await self._wait(wait)

    async def _once(self, call: Call, given: Mapping[str, Any]) -> ApiAnswer:
        try:
            request = self._http.build_request(**given)
            auth = httpx.USE_CLIENT_DEFAULT if call.token is None else None
            async with asyncio.timeout(self._timeout):
                return understood(await self._http.send(request, auth=auth))
        except TimeoutError as error:
            raise unreachable(self.api, httpx.ReadTimeout("the response took too long")) from error
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise unreachable(self.api, error) from error

    async def _send(self, call: Call, answer: type[A]) -> A:
        return model(await self.send(call), answer)

    async def _page(self, call: Call, item: type[A]) -> AsyncPage[A]:
        return AsyncPage(
            **page(await self.send(call), item), turn=lambda next_: self._page(at_cursor(call, next_), item)
        )
