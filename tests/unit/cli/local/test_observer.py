"""What the local stack observes and receives.

- The observer prints what moves, once, and remembers it for the verdict.
- What the topics tell.
- The receiver records who called, when, and what it answered.
- The receiver takes its time when a call asks it to.
"""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from rich.console import Console

from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.dead_letters import Topics, alarm_names, dead_run_ids, job_of
from duecourse.cli.local.demo.observer import Observer
from duecourse.cli.local.demo.receiver import (
    FAIL_PATH,
    INBOX_PATH,
    MAX_SECONDS,
    NOTICE_PATH,
    OK_PATH,
    TOKEN_PATH,
    CallLog,
    Receiver,
    thinking_seconds,
)
from duecourse.client import ApiUnreachableError, Page
from duecourse.client.models import Run
from tests.support.shown import shown_run
from tests.support.waiting import PATIENCE_SECONDS

NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
RUN = shown_run("tick.1", NOW, "QUEUED", attempts=0)


class World:
    """A stack to look at: one run, a dead-letter queue, the depths that were reported."""

    def __init__(self) -> None:
        self.run = RUN
        self.asked = 0
        self.error: Exception | None = None
        self.letters_error: Exception | None = None
        self.dead: list[str] = []
        self.reported: list[int] = []
        self.log = CallLog()
        self.printed = io.StringIO()
        self.observer = self.observing(self.reported.append)

    def observing(self, report: Callable[[int], None]) -> Observer:
        """An observer of this, which reports depths to `report`."""
        observer = Observer(
            runs=self,
            letters=self,
            report_depth=report,
            topics=Topics("deaths", ("pages", "tickets")),
            log=self.log,
            screen=Screen(Console(file=self.printed, highlight=False, soft_wrap=True, width=80), clock=lambda: 0.0),
            every_job=10 * SECOND,
        )
        observer.follow(["tick"])
        return observer

    def list_runs(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Run]:
        assert (job_id, limit, cursor) == ("tick", 100, None)
        self.asked += 1
        if self.error:
            raise self.error
        return Page((self.run,), None)

    def depth(self) -> int:
        if self.letters_error:
            raise self.letters_error
        return len(self.dead)

    def waiting_jobs(self) -> frozenset[str]:
        return frozenset(self.dead)

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.printed.getvalue().splitlines()]


@pytest.fixture
def world() -> World:
    return World()


def test_local_observer_prints_a_run_once_when_its_state_changes(world: World) -> None:
    world.observer.look(NOW)
    assert world.lines == []
    world.run = replace(RUN, state="SUCCEEDED", attempts=1, lateness_seconds=0.02)
    world.observer.look(NOW + SECOND)
    world.observer.look(NOW + 20 * SECOND)
    assert world.lines == ["tick                  09:00:00    +0.020 s  SUCCEEDED"]
    assert world.observer.seen(NOW).runs == (world.run,)


def test_local_observer_polls_a_job_without_a_due_run_only_occasionally(world: World) -> None:
    world.run = replace(RUN, due=NOW + 60 * SECOND)
    for second in range(21):
        world.observer.look(NOW + second * SECOND)
    assert world.asked == 3


def test_local_observer_reports_a_dead_run_from_the_queue_and_from_the_topic(world: World) -> None:
    world.observer.look(NOW)
    world.dead = ["tick"]
    world.log.add_notice({"TopicArn": "deaths", "Message": json.dumps({"run_id": "tick.1"})})
    world.log.add_notice({"TopicArn": "tickets", "Message": json.dumps({"AlarmName": "DeadLettersWaiting"})})
    world.observer.look(NOW + 5 * SECOND)
    world.observer.look(NOW + 10 * SECOND)
    assert world.lines == [
        "SNS notice: run tick.1 is dead",
        "SNS alarm: DeadLettersWaiting",
        "dead-letter queue: a message of tick has arrived (1 waiting)",
    ]
    seen = world.observer.seen(NOW)
    assert seen.dead_letter_jobs == {"tick"}
    assert seen.noticed_runs == {"tick.1"}


def test_local_observer_reports_the_queue_depth_when_it_changes_and_again_while_messages_wait(world: World) -> None:
    world.observer.look(NOW)
    world.dead = ["tick"]
    world.observer.look(NOW + 5 * SECOND)
    world.observer.look(NOW + 10 * SECOND)
    world.observer.look(NOW + 30 * SECOND)
    world.dead = []
    world.observer.look(NOW + 35 * SECOND)
    world.observer.look(NOW + 90 * SECOND)
    assert world.reported == [1, 1, 0]


def test_local_observer_does_not_print_earlier_events(world: World) -> None:
    world.run = replace(RUN, state="DEAD", attempts=3)
    world.dead = ["tick"]
    world.observer.prime()
    world.observer.look(NOW)
    assert world.lines == []
    assert world.observer.seen(NOW).dead_letter_jobs == {"tick"}


def test_local_observer_reports_an_unavailable_api_and_retries(world: World) -> None:
    world.error = ApiUnreachableError("nothing answers")
    world.observer.look(NOW)
    assert world.lines == ["tick: nothing answers"]
    world.error = None
    world.run = replace(RUN, state="DEAD", attempts=3)
    world.observer.look(NOW + 20 * SECOND)
    assert world.lines[1:] == ["tick                  09:00:00           -  DEAD after 3 attempts"]


@pytest.mark.parametrize(
    "error",
    [ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), ClientError({"Error": {"Code": "Busy"}}, "ReceiveMessage")],
    ids=["slow", "refused"],
)
def test_local_observer_reports_an_unavailable_queue_and_retries(world: World, error: Exception) -> None:
    world.observer.look(NOW)
    world.dead = ["tick"]
    world.letters_error = error
    world.observer.look(NOW + 5 * SECOND)
    assert world.lines == [f"dead-letter queue: {error}"]
    world.letters_error = None
    world.observer.look(NOW + 10 * SECOND)
    assert world.lines[1:] == ["dead-letter queue: a message of tick has arrived (1 waiting)"]


def test_local_observer_reports_a_repeated_failure_once(world: World) -> None:
    world.letters_error = ReadTimeoutError(endpoint_url="http://127.0.0.1:1")
    for number in range(1, 6):
        world.observer.look(NOW + number * 10 * SECOND)
    assert sum("dead-letter queue" in line for line in world.lines) == 1


def test_local_observer_retries_a_failed_depth_report_and_prints_its_message_once(world: World) -> None:
    refused = ReadTimeoutError(endpoint_url="http://127.0.0.1:1")

    def report(depth: int) -> None:
        if len(world.reported) < 2:
            world.reported.append(-1)
            raise refused
        world.reported.append(depth)

    world.observer = world.observing(report)
    world.dead.append("tick")
    for number in range(1, 6):
        world.observer.look(NOW + number * 3 * SECOND)
    assert sum("has arrived" in line for line in world.lines) == 1
    assert world.reported == [-1, -1, 1]


NOTICES = (
    {"TopicArn": "deaths", "Message": json.dumps({"job_id": "a", "run_id": "a.1"})},
    {"TopicArn": "pages", "Message": json.dumps({"AlarmName": "dead letters", "NewStateValue": "ALARM"})},
)


def test_local_observer_distinguishes_notices_by_topic() -> None:
    assert dead_run_ids(NOTICES, "deaths") == ("a.1",)
    assert alarm_names(NOTICES, ("pages", "tickets")) == ("dead letters",)


def test_local_observer_reads_the_job_of_a_dead_letter() -> None:
    assert job_of('{"job_id": "a"}') == "a"


@pytest.mark.parametrize("body", ["", "{}", "[]", "3", "hello"])
def test_local_observer_assigns_unknown_dead_letters_to_no_job(body: str) -> None:
    assert job_of(body) == "no job"


HEADERS = {
    "X-Duecourse-Run-Id": "tick.20261121T090000Z",
    "X-Duecourse-Job-Id": "tick",
    "X-Duecourse-Scheduled-At": "2026-11-21T09:00:00Z",
    "X-Duecourse-Attempt": "1",
}


def post(url: str, **arguments: object) -> httpx.Response:
    with httpx.Client(timeout=PATIENCE_SECONDS, trust_env=False) as http:
        return http.post(url, **arguments)  # type: ignore[arg-type]


def test_local_observer_receiver_records_a_call_with_its_arrival() -> None:
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


def test_local_observer_receiver_always_answers_500_on_the_failing_path_and_records_the_call() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        assert {post(receiver.url + FAIL_PATH, headers=HEADERS).status_code for _ in range(3)} == {500}
    assert [call.succeeded for call in log.calls] == [False, False, False]


def test_local_observer_receiver_issues_tokens_without_recording_a_call() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        answer = post(receiver.url + TOKEN_PATH, data={"grant_type": "client_credentials"})
    assert (answer.status_code, answer.json()["token_type"], log.calls) == (200, "Bearer", ())


def test_local_observer_receiver_records_a_call_without_duecourse_headers_without_a_run() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        post(receiver.url + OK_PATH)
    assert (log.calls[0].run_id, log.calls[0].scheduled_at, log.calls[0].lateness_seconds) == ("", None, None)


def test_local_observer_receiver_stores_a_notice_separately_from_calls() -> None:
    log = CallLog()
    with Receiver(log) as receiver:
        post(receiver.url + NOTICE_PATH, content=json.dumps({"Type": "Notification", "TopicArn": "t", "Message": "{}"}))
    assert log.calls == ()
    assert log.notices[0]["TopicArn"] == "t"


def test_local_observer_receiver_confirms_a_subscription_only_at_a_loopback_address() -> None:
    visited: list[str] = []
    with Receiver(CallLog(), visit=visited.append) as receiver:
        for url in ("http://elsewhere.invalid/confirm", "http://127.0.0.1:4599/confirm"):
            confirmation = {"Type": "SubscriptionConfirmation", "SubscribeURL": url}
            post(receiver.url + NOTICE_PATH, content=json.dumps(confirmation))
    assert visited == ["http://127.0.0.1:4599/confirm"]


def test_local_observer_receiver_rejects_requests_and_confirmations_from_web_pages() -> None:
    visited: list[str] = []
    log = CallLog()
    confirmation = {"Type": "SubscriptionConfirmation", "SubscribeURL": "http://127.0.0.1:4599/?Action=CreateQueue"}
    with Receiver(log, visit=visited.append) as receiver:
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
            answer = post(receiver.url + NOTICE_PATH, content=json.dumps(confirmation), headers=headers)
            assert answer.status_code == 403
            assert answer.json()["detail"].startswith("The local stack accepts")
            assert post(receiver.url + OK_PATH, headers=headers | HEADERS).status_code == 403
    assert visited == []
    assert log.calls == ()


def test_local_observer_receiver_releases_its_port_when_it_stops() -> None:
    with Receiver(CallLog()) as first:
        port = first.port
    with Receiver(CallLog(), port) as second:
        assert second.port == port


@pytest.mark.parametrize("path", [OK_PATH, FAIL_PATH])
def test_local_observer_receiver_delays_a_response_as_requested(path: str) -> None:
    log = CallLog()
    paused: list[tuple[float, int]] = []
    with Receiver(log, pause=lambda seconds: paused.append((seconds, len(log.calls)))) as receiver:
        httpx.post(f"{receiver.url}{path}?seconds=20", timeout=PATIENCE_SECONDS, trust_env=False)
    assert paused == [(20.0, 1)], "the call is recorded when it arrives, not when it is answered"


def test_local_observer_receiver_responds_immediately_without_a_requested_delay() -> None:
    paused: list[float] = []
    with Receiver(CallLog(), pause=paused.append) as receiver:
        assert httpx.post(receiver.url + OK_PATH, timeout=PATIENCE_SECONDS, trust_env=False).status_code == 200
    assert paused == []


@pytest.mark.parametrize(
    ("query", "seconds"),
    [("", 0), ("seconds=0.15", 0.15), ("seconds=soon", 0), ("seconds=-1", 0), ("seconds=nan", 0), ("seconds=1e9", 900)],
)
def test_local_observer_receiver_ignores_an_unreasonable_delay(query: str, seconds: float) -> None:
    assert thinking_seconds(query) == seconds <= MAX_SECONDS


def test_local_observer_inbox_shows_notifications_newest_first_as_text() -> None:
    with Receiver(CallLog()) as receiver:
        assert "no notifications yet" in httpx.get(receiver.url + INBOX_PATH, trust_env=False).text
        for number in range(2):
            message = json.dumps({"error": f"<script>{number}"})
            notice = {"Type": "Notification", "Subject": f"dead {number}", "Message": message}
            post(receiver.url + NOTICE_PATH, content=json.dumps(notice))
        answer = httpx.get(receiver.url + INBOX_PATH, trust_env=False)
        other = httpx.get(receiver.url + "/other", trust_env=False)
        foreign = httpx.get(receiver.url + INBOX_PATH, headers={"Origin": "http://evil.test"}, trust_env=False)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.text.index("dead 1") < answer.text.index("dead 0")
    assert "&lt;script&gt;1" in answer.text
    assert "<script" not in answer.text
    assert (other.status_code, foreign.status_code) == (404, 403)
