"""The receiver records who called, when, and what it answered."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx

from duecourse.cli.local.demo.receiver import FAIL_PATH, NOTICE_PATH, OK_PATH, CallLog, Receiver
from tests.support.waiting import PATIENCE_SECONDS

HEADERS = {
    "X-Duecourse-Run-Id": "tick.20261121T090000Z",
    "X-Duecourse-Job-Id": "tick",
    "X-Duecourse-Scheduled-At": "2026-11-21T09:00:00Z",
    "X-Duecourse-Attempt": "1",
}


def post(url: str, **arguments: object) -> httpx.Response:
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as http:
        return http.post(url, **arguments)  # type: ignore[arg-type]


def test_a_call_is_recorded_with_its_arrival() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        before = datetime.now(UTC)
        answer = post(receiver.url + OK_PATH, headers=HEADERS, json={"hello": "world"})
        after = datetime.now(UTC)

    (call,) = log.calls
    assert answer.status_code == 200
    assert (call.run_id, call.job_id, call.attempt, call.succeeded) == ("tick.20261121T090000Z", "tick", 1, True)
    assert before <= call.arrived_at <= after
    assert call.lateness_seconds == (call.arrived_at - datetime(2026, 11, 21, 9, tzinfo=UTC)).total_seconds()
    assert log.of_run("tick.20261121T090000Z") == (call,)


def test_the_failing_path_always_answers_500_and_records_the_call() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        assert {post(receiver.url + FAIL_PATH, headers=HEADERS).status_code for _ in range(3)} == {500}

    assert [call.succeeded for call in log.calls] == [False, False, False]


def test_a_call_without_our_headers_is_recorded_as_a_strangers() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        post(receiver.url + OK_PATH)

    assert (log.calls[0].run_id, log.calls[0].scheduled_at, log.calls[0].lateness_seconds) == ("", None, None)


def test_a_notice_is_kept_and_is_no_call() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        post(receiver.url + NOTICE_PATH, content=json.dumps({"Type": "Notification", "TopicArn": "t", "Message": "{}"}))

    assert log.calls == ()
    assert log.notices[0]["TopicArn"] == "t"


def test_a_subscription_is_confirmed_only_at_a_loopback_address() -> None:
    visited: list[str] = []
    with Receiver(CallLog(), visit=visited.append) as receiver:
        for url in ("http://elsewhere.invalid/confirm", "http://127.0.0.1:4599/confirm"):
            confirmation = {"Type": "SubscriptionConfirmation", "SubscribeURL": url}
            post(receiver.url + NOTICE_PATH, content=json.dumps(confirmation))

    assert visited == ["http://127.0.0.1:4599/confirm"]


def test_a_web_page_can_neither_call_it_nor_send_it_to_an_address() -> None:
    visited: list[str] = []
    log = CallLog()
    confirmation = {"Type": "SubscriptionConfirmation", "SubscribeURL": "http://127.0.0.1:4599/?Action=CreateQueue"}
    with Receiver(log, visit=visited.append) as receiver:
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
            answer = post(receiver.url + NOTICE_PATH, content=json.dumps(confirmation), headers=headers)
            assert answer.status_code == 403
            assert answer.json()["detail"].startswith("The local stack answers")
            assert post(receiver.url + OK_PATH, headers=headers | HEADERS).status_code == 403

    assert visited == []
    assert log.calls == ()


def test_the_receivers_port_is_free_again_afterwards() -> None:
    with Receiver(CallLog()) as first:
        port = first.port
    with Receiver(CallLog(), port) as second:
        assert second.port == port
