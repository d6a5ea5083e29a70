"""The local stack: its settings, sources and processes.

- The child processes of the local stack can reach no AWS but the local one.
- A kept local stack finds its ports again, or says in one line why it cannot.
- The digest of what the CDK app is made from: it says when nothing has to be synthesised again.
- What must be there before anything starts, and the one line that says what is missing.
- Child processes end with everything they started, and signals end a command once.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.compat import HAS_CRT

from duecourse.cli.local.emulator import environment, process
from duecourse.cli.local.emulator.environment import free_port, is_taken
from duecourse.cli.local.emulator.ministack import MiniStack, last_line
from duecourse.cli.local.emulator.process import Stopped, stoppable
from duecourse.cli.local.local import delete, set_aside
from duecourse.cli.local.project import check_python, digest, find_cdk, find_node, find_root, node_version
from duecourse.cli.local.settings import Settings, choose, locked
from duecourse.cli.terminal import CliError, UsageError
from tests.support.waiting import PATIENCE_SECONDS, awaited

USERS = {
    "PATH": "/usr/bin",
    "HOME": "/home/someone",
    "AWS_PROFILE": "production",
    "AWS_SESSION_TOKEN": "real",
    "AWS_ENDPOINT_URL_SQS": "https://sqs.example",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
    "DUECOURSE_API": "https://jobs.example",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "NO_PROXY": "intra.example",
}


def test_local_stack_inherits_nothing_that_leads_to_a_real_account(tmp_path: Path) -> None:
    found = environment.cdk(USERS, endpoint="http://127.0.0.1:4599", temporary=tmp_path)
    assert {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SQS", "CDK_DEFAULT_ACCOUNT"}.isdisjoint(found)
    assert found["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4599"
    assert found["AWS_ACCESS_KEY_ID"] == "test"
    assert found["AWS_CONFIG_FILE"] == found["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
    assert found["HOME"] == "/home/someone"
    assert found["CDK_HOME"] == str(tmp_path / "cdk-home")


def test_local_stack_reaches_loopback_without_the_proxy_of_the_user(tmp_path: Path) -> None:
    found = environment.base(USERS, tmp_path)
    assert found["NO_PROXY"] == found["no_proxy"] == "intra.example,127.0.0.1,localhost"
    assert found["HTTPS_PROXY"] == "http://proxy.example:3128"


def test_local_stack_emulator_listens_only_on_loopback_and_writes_only_to_its_folder(tmp_path: Path) -> None:
    found = environment.ministack(USERS, port=4599, state=tmp_path / "state", temporary=tmp_path / "tmp", kept=True)
    assert (found["BIND_HOST"], found["GATEWAY_PORT"]) == ("127.0.0.1", "4599")
    assert (found["IOT_MTLS_ENABLED"], found["SFTP_ENABLED"]) == ("0", "0")
    assert (found["PERSIST_STATE"], found["STATE_DIR"]) == ("1", str(tmp_path / "state"))
    assert (found["S3_PERSIST"], found["S3_DATA_DIR"]) == ("1", str(tmp_path / "state" / "s3"))
    assert found["DOCKER_HOST"] == f"unix://{tmp_path / 'tmp' / 'no-docker'}"
    assert found["TMPDIR"] == str(tmp_path / "tmp")


def test_local_stack_requests_of_functions_are_signed_as_on_aws_without_awscrt(tmp_path: Path) -> None:
    found = environment.ministack(USERS, port=4599, state=tmp_path, temporary=tmp_path, kept=False)
    assert found["BOTO_DISABLE_CRT"] == "true"
    assert HAS_CRT is False  # in the tests, too


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_local_stack_settings_are_the_same_after_a_restart(tmp_path: Path) -> None:
    assert Settings.read(tmp_path) is None
    Settings(4599, 4600).write(tmp_path)
    assert Settings.read(tmp_path) == Settings(4599, 4600)


def test_local_stack_reports_unreadable_settings_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(CliError, match=r"settings\.json is not readable .* --fresh"):
        Settings.read(tmp_path)


def test_local_stack_detects_a_port_in_use(taken: int) -> None:
    assert is_taken(taken)
    assert not is_taken(free_port())


def test_local_stack_first_start_uses_the_preferred_port_or_a_free_one() -> None:
    port = free_port()
    assert choose(None, port).port == port
    assert not is_taken(choose(None, None).port)


def test_local_stack_preferred_port_in_use_is_reported_on_one_line_with_status_two(taken: int) -> None:
    with pytest.raises(UsageError, match=f"port {taken} is taken") as caught:
        choose(None, taken)
    assert caught.value.exit_code == 2


def test_local_stack_stored_port_is_reused() -> None:
    kept = Settings(free_port(), free_port())
    assert choose(kept, None) == kept
    assert choose(kept, kept.port) == kept


def test_local_stack_stored_port_in_use_is_rejected(taken: int) -> None:
    with pytest.raises(UsageError, match="the stored stack needs it"):
        choose(Settings(taken, free_port()), None)


def test_local_stack_port_other_than_the_stored_one_is_rejected() -> None:
    with pytest.raises(UsageError, match="remove --port"):
        choose(Settings(free_port(), free_port()), 4599)


def test_local_stack_receiver_port_in_use_is_replaced(taken: int) -> None:
    kept = Settings(free_port(), taken)
    chosen = choose(kept, None)
    assert chosen.port == kept.port
    assert chosen.receiver_port != taken


def test_local_stack_second_stack_with_the_same_data_is_rejected_and_names_the_first(tmp_path: Path) -> None:
    with locked(tmp_path) as announce:
        with pytest.raises(UsageError, match="already running: it is still starting"), locked(tmp_path):
            pass
        announce("http://127.0.0.1:4599/api")
        with pytest.raises(UsageError, match=r"already running: http://127\.0\.0\.1:4599/api"), locked(tmp_path):
            pass
    with locked(tmp_path), pytest.raises(UsageError, match="still starting"), locked(tmp_path):
        pass


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("app.py", "cdk.json", "package-lock.json", "README.md"):
        (tmp_path / name).write_text(name)
    for name in (
        "requirements/dev.txt",
        "infra/stack.py",
        "functions/tick/handler.py",
        "layers/core/python/core.py",
        "console/src/page.ts",
        "console/node_modules/part/part.js",
        "console/src/api/schema.ts",
        "tests/test_it.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "app.py",
        "cdk.json",
        "console/src/page.ts",
        "package-lock.json",
        "requirements/dev.txt",
        "infra/stack.py",
        "functions/tick/handler.py",
    ],
)
def test_local_stack_source_digest_changes_with_every_file_that_synthesis_reads(checkout: Path, name: str) -> None:
    before = digest(checkout)
    assert digest(checkout) == before
    (checkout / name).write_text("something else")
    assert digest(checkout) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "infra/new.py").write_text(""),
        lambda root: (root / "infra/stack.py").rename(root / "infra/renamed.py"),
        lambda root: (root / "layers/core/python/core.py").unlink(),
        lambda root: (root / "cdk.context.json").write_text("{}"),
        lambda root: (root / "settings").mkdir() or (root / "settings/local.json").write_text("{}"),
    ],
)
def test_local_stack_source_digest_changes_when_files_are_added_removed_or_moved(
    checkout: Path, change: Callable[[Path], object]
) -> None:
    before = digest(checkout)
    change(checkout)
    assert digest(checkout) != before


def test_local_stack_source_digest_does_not_change_with_other_files(checkout: Path) -> None:
    before = digest(checkout)
    (checkout / "README.md").write_text("")
    (checkout / "tests/test_it.py").unlink()
    (checkout / "console/node_modules/part/part.js").write_text("")
    (checkout / "console/src/api/schema.ts").write_text("made by the build")
    (checkout / "infra/__pycache__").mkdir()
    (checkout / "infra/__pycache__/stack.pyc").write_bytes(b"x")
    (checkout / "layers/.DS_Store").write_bytes(b"x")
    assert digest(checkout) == before


def test_local_stack_source_digest_follows_links_like_synthesis(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    linked = tmp_path_factory.mktemp("linked")
    for entry in checkout.iterdir():
        (linked / entry.name).symlink_to(entry)
    assert digest(linked) == digest(checkout)


def program(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_local_stack_checkout_is_found_from_a_folder_inside_it(tmp_path: Path) -> None:
    (tmp_path / "cdk.json").touch()
    (tmp_path / "app.py").touch()
    (inside := tmp_path / "tests" / "unit").mkdir(parents=True)
    assert find_root(inside) == tmp_path


def test_local_stack_default_checkout_is_that_of_the_command(tmp_path: Path) -> None:
    assert (find_root(tmp_path) / "layers" / "duecourse").is_dir()


def test_local_stack_missing_node_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CliError, match=r"Node is missing; the CDK CLI needs Node 20\.19 or newer"):
        find_node(path=str(tmp_path))


def test_local_stack_old_node_is_reported_with_its_version(tmp_path: Path) -> None:
    program(tmp_path, "node", "echo v18.19.0")
    with pytest.raises(CliError, match=r"Node v18\.19\.0 is too old"):
        find_node(path=str(tmp_path))


def test_local_stack_node_that_does_not_run_is_reported(tmp_path: Path) -> None:
    program(tmp_path, "node", "exit 3")
    with pytest.raises(CliError, match="cannot run Node"):
        find_node(path=str(tmp_path))


def test_local_stack_recent_node_is_found(tmp_path: Path) -> None:
    program(tmp_path, "node", "echo v22.1.0")
    assert find_node(path=str(tmp_path)) == tmp_path / "node"
    assert node_version("something else") == (0, 0)


def test_local_stack_missing_cdk_cli_is_reported_with_the_setup(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="run `make setup`"):
        find_cdk(tmp_path)


def test_local_stack_old_python_is_reported_with_its_version() -> None:
    with pytest.raises(CliError, match=r"Python 3\.9 is too old; install Python 3\.11 or newer"):
        check_python((3, 9))


STUBBORN = (
    "import signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)\n"
)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").exists() else True


def test_local_stack_process_that_ignores_termination_is_killed_with_its_children(tmp_path: Path) -> None:
    child = process.start(
        [sys.executable, "-c", STUBBORN], environment=os.environ, folder=tmp_path, output=subprocess.PIPE
    )
    assert child.stdout is not None
    grandchild = int(child.stdout.readline())
    assert process.stop(child, patience=0.1) is False
    assert child.poll() is not None
    awaited("the grandchild's end", lambda: not is_alive(grandchild))


def test_local_stack_process_that_ends_on_termination_is_not_killed(tmp_path: Path) -> None:
    child = process.start(["sleep", "600"], environment=os.environ, folder=tmp_path, output=subprocess.DEVNULL)
    assert process.stop(child, patience=PATIENCE_SECONDS) is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_local_stack_signal_stops_the_command_once_without_interrupting_the_shutdown(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    cleaned = False

    def stopped_twice() -> None:
        nonlocal cleaned
        with stoppable():
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(number)
                cleaned = True

    with pytest.raises(Stopped) as caught:
        stopped_twice()
    assert cleaned
    assert caught.value.exit_code == 128 + number
    assert signal.getsignal(number) == before


def test_local_stack_emulator_that_cannot_start_is_reported_on_one_line_with_its_last_output_and_log(
    tmp_path: Path,
) -> None:
    class Broken(MiniStack):
        command = (sys.executable, "-c", "print('first'); print('no such module'); raise SystemExit(3)")

    log = tmp_path / "log"
    with (
        pytest.raises(CliError, match=rf"ended during its start: no such module \(log: {log}\)"),
        Broken(port=free_port(), state=tmp_path / "state", temporary=tmp_path, log=log),
    ):
        pass


def test_local_stack_emulator_that_does_not_respond_is_abandoned(tmp_path: Path) -> None:
    class Silent(MiniStack):
        command = ("sleep", "600")

    silent = Silent(port=free_port(), state=tmp_path / "state", temporary=tmp_path, log=tmp_path / "log", kept=True)
    silent.start()
    with pytest.raises(CliError, match="did not respond within 0 s: it printed no output"):
        silent.wait_until_ready(patience=0.2)
    assert silent.stop() is True
    assert silent.has_ended


def test_local_stack_last_line_of_a_log_is_the_last_one_that_is_not_blank(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\n two \n\n")
    assert last_line(tmp_path / "log") == "two"
    assert last_line(tmp_path / "none") == "it printed no output"


def test_local_stack_temporary_files_are_deleted_while_the_next_stack_creates_its_own(tmp_path: Path) -> None:
    temporary, interrupted = tmp_path / "tmp", tmp_path / "tmp-1"
    for folder in (temporary, interrupted):
        (folder / "layer").mkdir(parents=True)
    found = set_aside(temporary)
    (temporary / "next").mkdir(parents=True)
    assert delete(found).wait(PATIENCE_SECONDS) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    assert [path.name for path in temporary.iterdir()] == ["next"]


def test_local_stack_without_temporary_files_deletes_none(tmp_path: Path) -> None:
    assert set_aside(tmp_path / "tmp") == []
