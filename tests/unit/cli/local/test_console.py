"""The local stack's console, callers and progress.

- One line per run, and the lines of steps and verdicts.
- Which requests the local stack's servers refuse, and that refusing ends there.
- The outputs of the stack, and the API's address on this machine.
- The CDK CLI's output in a few short lines.
"""

import asyncio
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from duecourse.cli.local.demo.console import Screen, run_line
from duecourse.cli.local.demo.verdict import DemoCheck, DemoResult, figures
from duecourse.cli.local.deployment import CdkProgress, Outputs, api_id
from duecourse.cli.local.emulator.emulator import guarded, refusal
from duecourse.cli.terminal import CliError
from duecourse.client.models import Run
from tests.support.shown import shown_run

DUE = datetime(2026, 11, 21, 9, 0, 20, tzinfo=UTC)
RUN = shown_run("tick.20261121T090020Z", DUE, lateness_seconds=0.0421, max_attempts=4)


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (RUN, "tick                  09:00:20    +0.042 s  SUCCEEDED"),
        (
            replace(RUN, state="RETRYING", attempts=1, max_attempts=3, error="HTTP\n500"),
            "tick                  09:00:20    +0.042 s  RETRYING after attempt 1 of 3: HTTP 500",
        ),
        (
            replace(RUN, state="DEAD", attempts=3, error="x" * 100),
            f"tick                  09:00:20    +0.042 s  DEAD after 3 attempts: {'x' * 62}",
        ),
        (
            replace(RUN, state="SKIPPED", reason="missed", lateness_seconds=None, count=7),
            "tick                  09:00:20           -  SKIPPED (missed) for 7 occurrences",
        ),
    ],
)
def test_local_stack_prints_a_run_on_one_line_with_job_occurrence_lateness_and_state(run: Run, line: str) -> None:
    assert run_line(run) == line


def screen(seconds: Iterator[float]) -> tuple[Screen, io.StringIO]:
    printed = io.StringIO()
    console = Console(file=printed, highlight=False, soft_wrap=True, width=80)
    return Screen(console, clock=lambda: next(seconds)), printed


def test_local_stack_prints_a_step_with_the_seconds_since_the_start() -> None:
    shown, printed = screen(iter([100.0, 112.34]))
    shown.step("cdk deploy", "25 of 25 resources [all]")
    assert printed.getvalue() == "  12.3 s  cdk deploy     25 of 25 resources [all]\n"


def test_local_stack_output_contains_no_terminal_control_characters() -> None:
    steering = "\x1b[2J\x9b\u061c\u200f\u202e\u2066"
    shown, printed = screen(iter([100.0, 112.34]))
    shown.step(steering, f"kept {steering}")
    shown.run(replace(RUN, job_id=steering, state=steering))
    shown.event(steering)
    shown.line(steering)
    shown.verdict(DemoResult((DemoCheck(steering, True, steering),), None, None))
    assert all(each.isprintable() or each == "\n" for each in printed.getvalue())


def test_local_stack_result_lists_its_checks_and_figures() -> None:
    shown, printed = screen(iter([0.0]))
    checks = (DemoCheck("tick", True, "9 of 9 SUCCEEDED"), DemoCheck("dead-letter queue", False, "nothing"))
    shown.verdict(DemoResult(checks, figures([0.1]), None))
    text = printed.getvalue()
    assert "  ok    tick" in text
    assert "  FAIL  dead-letter queue" in text
    assert "lateness by run records       1 starts, 0 early" in text
    assert "lateness by receiver's clock  no starts" in text


def test_local_stack_prints_target_output_unchanged_except_control_characters() -> None:
    shown, printed = screen(iter([0.0]))
    shown.run(replace(RUN, state="DEAD", error="[/x] :fire: \x1b[2J"))
    shown.event("job: 503 [busy] :fire: \x1b[2J")
    assert "after 1 attempt: [/x] :fire: \ufffd[2J\n" in printed.getvalue()
    assert "  job: 503 [busy] :fire: \ufffd[2J\n" in printed.getvalue()


PORT = 4599
OURS = ("Host", f"127.0.0.1:{PORT}")


@pytest.mark.parametrize(
    "headers",
    [
        [OURS],
        [("host", f"localhost:{PORT}")],
        [("HOST", f"LocalHost:{PORT}")],
        [("host", f"bucket.s3.localhost:{PORT}")],
        [OURS, ("User-Agent", "Boto3/1.43"), ("Authorization", "AWS4-HMAC-SHA256 ...")],
        [OURS, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate")],
        [OURS, ("Sec-Fetch-Site", "same-origin")],
        [OURS, ("Sec-Fetch-Site", "same-origin"), ("Origin", f"http://127.0.0.1:{PORT}")],
    ],
)
def test_local_stack_accepts_requests_of_programs_and_its_own_page(headers: list[tuple[str, str]]) -> None:
    assert refusal(headers, PORT) is None


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([OURS, ("Origin", "https://evil.example")], "not from web pages"),
        ([OURS, ("origin", f"http://localhost:{PORT}")], "not from web pages"),
        ([OURS, ("origin", f"https://127.0.0.1:{PORT}")], "not from web pages"),
        ([OURS, ("origin", "http://127.0.0.1:4600")], "not from web pages"),
        ([OURS, ("origin", f"http://127.0.0.1:{PORT}"), ("origin", "https://evil.example")], "not from web pages"),
        ([OURS, ("Origin", "")], "not from web pages"),
        ([OURS, ("Sec-Fetch-Site", "cross-site")], "not from web pages"),
        ([OURS, ("Sec-Fetch-Site", "CROSS-SITE")], "not from web pages"),
        ([OURS, ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "cross-site")], "not from web pages"),
        ([], "http://127.0.0.1:4599"),
        ([("host", "")], "http://127.0.0.1:4599"),
        ([("host", "evil.example")], "http://127.0.0.1:4599"),
        ([("host", f"evil.example:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"127.0.0.1.evil.example:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"notlocalhost:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"localhost.evil.example:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", f"evil.example@127.0.0.1:{PORT}")], "http://127.0.0.1:4599"),
        ([("host", "127.0.0.1")], "http://127.0.0.1:4599"),
        ([("host", "127.0.0.1:4600")], "http://127.0.0.1:4599"),
        ([OURS, ("Host", "evil.example")], "http://127.0.0.1:4599"),
    ],
)
def test_local_stack_rejects_requests_of_other_web_pages_and_host_names(
    headers: list[tuple[str, str]], why: str
) -> None:
    said = refusal(headers, PORT)
    assert said is not None
    assert why in said


def test_local_stack_other_sites_may_link_only_to_the_console() -> None:
    followed = [OURS, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")]
    fetched = [OURS, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")]
    assert refusal(followed, PORT, opens_console=True) is None
    assert refusal(followed, PORT) is not None
    assert refusal(fetched, PORT, opens_console=True) is not None


def asked(kind: str, headers: list[tuple[bytes, bytes]]) -> tuple[list[dict[str, Any]], int]:
    """What a guarded application answers, and how often the application itself was called."""
    sent: list[dict[str, Any]] = []
    called: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["type"])

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody reads the request")

    asyncio.run(
        guarded(app, PORT)({"type": kind, **({} if kind == "lifespan" else {"headers": headers})}, receive, send)
    )
    return sent, len(called)


def test_local_stack_rejected_request_does_not_reach_the_application() -> None:
    (start, body), called = asked("http", [(b"host", b"evil.example")])
    assert called == 0
    assert start["status"] == 403
    assert json.loads(body["body"])["status"] == 403


def test_local_stack_rejected_websocket_is_closed_before_it_opens() -> None:
    assert asked("websocket", [(b"host", b"127.0.0.1:4599"), (b"origin", b"https://evil.example")]) == (
        [{"type": "websocket.close"}],
        0,
    )


def test_local_stack_accepted_requests_and_server_events_reach_the_application() -> None:
    assert asked("http", [(b"host", b"127.0.0.1:4599")]) == ([], 1)
    assert asked("lifespan", []) == ([], 1)


FOUND = {
    "ApiUrl": "https://7dbf4306.execute-api.us-east-1.amazonaws.com/",
    "DeadLetterQueueUrl": "http://127.0.0.1:4599/000000000000/dead",
    "DeathsTopicArn": "arn:aws:sns:us-east-1:000000000000:deaths",
    "PagesTopicArn": "arn:aws:sns:us-east-1:000000000000:pages",
    "TicketsTopicArn": "arn:aws:sns:us-east-1:000000000000:tickets",
    "TickFunction": "tick",
}


@pytest.mark.parametrize(
    "url",
    [
        "https://7dbf4306.execute-api.us-east-1.amazonaws.com/",
        "http://7dbf4306.execute-api.localhost:4599",
        "http://127.0.0.1:4599/_aws/execute-api/7dbf4306/$default",
    ],
)
def test_local_stack_api_id_is_found_in_any_address(url: str) -> None:
    assert api_id(url) == "7dbf4306"


def test_local_stack_api_is_reached_through_the_port_of_the_emulator() -> None:
    found = Outputs.from_mapping(FOUND)
    assert found.local_api("http://127.0.0.1:4599") == "http://127.0.0.1:4599/_aws/execute-api/7dbf4306"
    assert found.dead_letter_queue_url.endswith("/dead")


def test_local_stack_missing_output_is_named() -> None:
    with pytest.raises(CliError, match="has no output TickFunction"):
        Outputs.from_mapping({name: value for name, value in FOUND.items() if name != "TickFunction"})


STACK = "Duecourse-local"


def told(*lines: str) -> list[str]:
    said: list[str] = []
    progress = CdkProgress(said.append)
    for line in lines:
        progress.line(line)
    return said


def resource(done: int, total: int, status: str = "CREATE_COMPLETE") -> str:
    return f"{STACK} | {done:2}/{total} | 9:31:04 AM | {status:<20} | AWS::SQS::Queue                 | lane (lane1)"


def test_local_stack_deployment_reports_resources_in_quarters() -> None:
    assert told(*(resource(done, 8) for done in range(1, 9))) == [
        f"{done} of 8 resources, now AWS::SQS::Queue" for done in (2, 4, 6, 8)
    ]


def test_local_stack_deployment_reports_an_excessive_resource_count_once() -> None:
    assert len(told(*(resource(done, 8) for done in range(8, 20)))) == 1


def test_local_stack_deployment_reports_its_steps() -> None:
    assert told(
        "Synthesis time: 5.87s",
        f"{STACK}: success: Published api/Code",
        f"{STACK}: success: Published template",
        f"{STACK}: creating CloudFormation changeset...",
        "Outputs:",
    ) == ["synthesised in 6 s", "2 assets published"]


def test_local_stack_deployment_without_changes_is_reported() -> None:
    assert told(f"{STACK} (no changes)") == ["nothing has changed"]


def test_local_stack_deployment_failures_are_reported_unchanged() -> None:
    assert told(resource(3, 8, "CREATE_FAILED"), "Error: no such stack")[-1] == "Error: no such stack"
    assert "CREATE_FAILED" in told(resource(1, 8, "CREATE_FAILED"))[0]
