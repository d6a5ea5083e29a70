"""A stack on this machine is called directly, whatever proxy the environment names."""

import asyncio

import pytest

from duecourse.client import ApiUnreachableError, AsyncClient, Client
from tests.support.http_target import answering, http_target

JOB = b'{"id": "hello", "schedule": "rate(1 minute)", "state": "active"}'


@pytest.fixture(autouse=True)
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")


def test_proxy_is_not_used_by_the_client_for_loopback() -> None:
    with http_target(answering(200, JOB)) as api, Client(api.url("")) as client:
        assert client.get_job("hello").id == "hello"


def test_proxy_is_not_used_by_the_async_client_for_loopback() -> None:
    async def ask(url: str) -> str:
        async with AsyncClient(url) as client:
            return (await client.get_job("hello")).id

    with http_target(answering(200, JOB)) as api:
        assert asyncio.run(ask(api.url(""))) == "hello"


def test_proxy_is_used_by_the_client_for_other_hosts() -> None:
    with Client("http://jobs.example", retries=0) as client, pytest.raises(ApiUnreachableError, match="refused"):
        client.get_job("hello")
