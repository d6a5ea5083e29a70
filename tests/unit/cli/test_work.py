"""`duecourse work --shell`: the command of a run's payload, how it ends, and which commands are allowed."""

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from click.testing import CliRunner

from duecourse.cli.commands.work import remedy
from duecourse.cli.main import main
from duecourse.cli.shell import Shell, read_allowed, written_allowed
from duecourse.worker import Failed
from duecourse.worker.queue import read_run
from tests.support.worker import EVENT, Api, MemoryQueue, worker


def ended(payload: Any, shell: Shell | None = None) -> tuple[str, dict[str, Any]]:
    """What the API is told of a run with this payload."""
    api, queue = Api(), MemoryQueue(json.dumps(EVENT | {"payload": payload}))
    worker(queue, api, (shell or Shell(allowed=None)).work).run_once()
    (report,) = api.reports
    assert len(queue.deleted) == 1
    return report


def command(text: str, **shell: Any) -> tuple[str, dict[str, Any]]:
    return ended({"command": text}, Shell(**{"allowed": None} | shell))


def test_work_command_completes_the_run_with_the_end_of_the_output_on_exit_code_0() -> None:
    assert command("echo out; echo err >&2") == ("complete", {"result": {"exit_code": 0, "output": "out\nerr"}})


def test_work_command_fails_the_run_with_exit_code_and_output_and_the_job_decides_on_a_retry() -> None:
    assert command("echo no such file; exit 3") == ("fail", {"error": "exit code 3: no such file", "code": "exit.3"})
    assert command("kill -9 $$") == ("fail", {"error": "ended by signal 9", "code": "signal.9"})


def test_work_command_reports_the_end_of_a_long_output() -> None:
    _, said = command("i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done; exit 1")
    assert said["error"].endswith("line 4999")
    assert len(said["error"]) < 2000


def logged(text: str, **event: Any) -> str:
    """The log of a run with this command."""
    api, queue = Api(), MemoryQueue(json.dumps({**EVENT, "payload": {"command": text}, **event}))
    worker(queue, api, Shell(allowed=None).work).run_once()
    assert [word for word, _ in api.said][-2:] == ["log", "complete"] or api.logs == []
    return "".join({each["number"]: each["text"] for each in api.logs}.values())


def test_work_command_keeps_both_outputs_in_the_log_of_the_run() -> None:
    assert logged("echo out; echo err >&2; printf end") == "out\nerr\nend"
    assert logged("true") == ""


def test_work_command_keeps_the_beginning_and_the_end_of_a_long_output_in_the_log() -> None:
    text = logged("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
    whole = "".join(f"line {number}\n" for number in range(20000))
    first, gap, last = text.partition(f"\n[{len(whole) - 65536} bytes of the output are not kept]\n")
    assert gap
    assert (first, last) == (whole[:32768], whole[-32768:])


@pytest.mark.parametrize("size", [32_767, 32_768, 40_000, 65_535])
def test_work_command_keeps_an_output_of_up_to_64_kilobytes_completely(size: int) -> None:
    text = "x" + "\N{SNOWMAN}" * (size // 3) + "y" * (size % 3)
    script = f'{sys.executable} -c \'print("x" + chr(9731) * {size // 3} + "y" * {size % 3}, end="")\''
    assert logged(f"PYTHONIOENCODING=utf-8 {script}") == text


def test_work_command_replaces_output_that_is_not_utf_8() -> None:
    assert logged(r"printf 'a\377b\000c\n'") == "a\ufffdb\ufffdc\n"


def test_work_command_of_a_run_without_a_token_has_no_log() -> None:
    assert logged("echo out", callback=None) == ""


def test_work_command_passes_the_run_but_not_the_token_to_the_command(tmp_path: Path) -> None:
    _, said = command(
        "pwd; echo $DUECOURSE_RUN_ID $DUECOURSE_ATTEMPT $DUECOURSE_IDEMPOTENCY_KEY $MINE -$DUECOURSE_TOKEN-; cat",
        folder=str(tmp_path),
        environment={"MINE": "mine", "DUECOURSE_TOKEN": "secret", "PATH": "/usr/bin:/bin"},
    )
    assert said["result"]["output"] == f"{tmp_path}\n{EVENT['run_id']} 1 {EVENT['idempotency_key']} mine --"


def test_work_command_does_not_pass_credentials_of_the_worker_to_the_command() -> None:
    own = {f"DUECOURSE_{name}": "secret" for name in ("TOKEN", "CLIENT_SECRET", "CLIENT_ID", "ACCOUNT", "ISSUER")}
    own |= {"DUECOURSE_PROFILE": "secret", "DUECOURSE_LATER": "secret", "DUECOURSE_API": "https://api", "MINE": "mine"}
    _, said = command("env", environment=own | {"PATH": "/usr/bin:/bin"})
    assert "secret" not in said["result"]["output"]
    assert {"DUECOURSE_API=https://api", "MINE=mine"} <= set(said["result"]["output"].splitlines())


@pytest.mark.parametrize("mark", ["\v", "\f", "\x85", "\u2028", "\r"])
def test_work_command_only_a_newline_ends_an_allowed_command(mark: str) -> None:
    assert read_allowed(f"# not allowed:{mark}rm -rf /srv\necho\r\n") == {"echo"}
    both = [f"echo a{mark}echo b", f"echo{mark}", "echo"]
    assert read_allowed(written_allowed(both)) == set(both)


def test_work_command_terminates_a_command_and_its_children_after_the_timeout() -> None:
    clock = count(0, 100)
    word, said = command("echo begun; (sleep 600) & sleep 600", timeout=50, clock=lambda: next(clock))
    assert (word, said["code"]) == ("fail", "shell.timeout")


def test_work_command_kills_a_command_that_ignores_termination() -> None:
    clock = count(0, 100)
    word, said = command("trap '' TERM; while :; do sleep 1; done", timeout=50, clock=lambda: next(clock))
    assert (word, said["code"]) == ("fail", "shell.timeout")


def test_work_command_terminates_a_command_whose_run_is_cancelled() -> None:
    run = read_run(json.dumps(EVENT | {"payload": {"command": "sleep 600"}}))
    run.cancelled.set()
    with pytest.raises(Failed) as failed:
        Shell(allowed=None).work(run)
    assert failed.value.code == "shell.cancelled"


def test_work_command_runs_only_exact_matches_of_allowed_commands() -> None:
    allowed = read_allowed('# nightly\necho a\n\n"echo b\\n"\n')
    assert allowed == {"echo a", "echo b\n"}
    assert command("echo a", allowed=allowed)[0] == "complete"
    for other in ("echo a; rm -rf /", "echo a ", "echo"):
        word, said = command(other, allowed=allowed)
        assert (word, said["code"], said["retryable"]) == ("fail", "shell.not_allowed", False)


def test_work_command_reads_a_file_of_commands_as_written() -> None:
    commands = ["a", "printf x | { b\n}", '"quoted"', "# no comment", "  indented"]
    assert read_allowed(written_allowed(commands)) == set(commands)
    with pytest.raises(ValueError, match="line 2"):
        read_allowed('a\n"b\n')


@pytest.mark.parametrize("payload", [None, "echo", {"command": ""}, {"command": 1}, {"command": "a\0b"}])
def test_work_command_does_not_retry_a_payload_without_a_command(payload: Any) -> None:
    word, said = ended(payload)
    assert (word, said["code"], said["retryable"]) == ("fail", "shell.bad_payload", False)


def test_work_command_fails_the_run_if_the_folder_is_missing(tmp_path: Path) -> None:
    assert command("true", folder=str(tmp_path / "gone"))[1]["code"] == "shell.not_started"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--queue", "q"), "--shell"),
        (("--shell", "--queue", "q"), "--allow"),
        (("--shell", "--queue", "q", "--allow", "FILE", "--allow-any"), "--allow"),
        (("--shell", "--queue", "q", "--allow", "FILE"), "line 1"),
    ],
)
def test_work_command_requires_an_explicit_choice_of_allowed_commands(
    options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (tmp_path / "FILE").write_text('"no end')
    arguments = [str(tmp_path / each) if each == "FILE" else each for each in options]
    result = CliRunner(env={"DUECOURSE_API": "http://127.0.0.1:1"}).invoke(main, ["work", *arguments])
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("code", ["AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"])
def test_work_command_reports_a_missing_queue_with_the_command_that_creates_it(code: str) -> None:
    error = ClientError({"Error": {"Code": code, "Message": "The specified queue does not exist."}}, "GetQueueUrl")
    create = "the queue duecourse-target-cron does not exist; create it: aws sqs create-queue --queue-name "
    assert remedy(error, "duecourse-target-cron", None) == f"{create}duecourse-target-cron"
    local = remedy(error, "duecourse-target-cron", "http://127.0.0.1:4566")
    assert local == f"{create}duecourse-target-cron --endpoint-url http://127.0.0.1:4566"


def test_work_command_shows_other_queue_errors_unchanged() -> None:
    error = EndpointConnectionError(endpoint_url="http://127.0.0.1:9")
    assert remedy(error, "q", None).startswith("the queue cannot be reached: Could not connect")
