"""The emulator of the local stack answers programs of this machine and no web page that is open on it."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support import emulators

QUEUE = "made-by-a-web-page"


@pytest.fixture
def http(ministack: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=ministack, trust_env=False) as client:
        yield client


def queues(ministack: str) -> list[str]:
    """Their names."""
    found = emulators.client("sqs", ministack).list_queues(QueueNamePrefix=QUEUE)
    return [url.rpartition("/")[2] for url in found.get("QueueUrls", [])]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},  # whose name now leads to 127.0.0.1
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # a page from another port of this machine
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_local_stack_rejects_requests_of_a_web_page_with_an_explanation_and_does_nothing(
    ministack: str, http: httpx.Client, method: str, headers: dict[str, str]
) -> None:
    answer = http.request(method, "/", params={"Action": "CreateQueue", "QueueName": QUEUE}, headers=headers)
    assert answer.status_code == 403
    assert answer.json()["detail"].startswith("The local stack accepts")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert queues(ministack) == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "sqs.us-east-1.localhost"])
def test_local_stack_serves_programs_under_each_local_host_name(ministack: str, http: httpx.Client, name: str) -> None:
    made = f"{QUEUE}-not-{name.replace('.', '-')}"
    host = f"{name}:{urlsplit(ministack).port}"
    assert http.get("/", params={"Action": "CreateQueue", "QueueName": made}, headers={"Host": host}).status_code == 200
    (url,) = emulators.client("sqs", ministack).list_queues(QueueNamePrefix=made)["QueueUrls"]
    emulators.client("sqs", ministack).delete_queue(QueueUrl=url)


def test_local_stack_can_be_opened_in_a_browser(http: httpx.Client) -> None:
    assert http.get("/_ministack/health", headers={"Sec-Fetch-Site": "none"}).status_code == 200
