"""The persistent local stack: its data is kept between starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from duecourse.cli.local.demo.console import Screen
from duecourse.cli.local.demo.dead_letters import Topics
from duecourse.cli.local.demo.observer import Observer, observe
from duecourse.cli.local.demo.receiver import FAIL_PATH, INBOX_PATH, NOTICE_PATH, OK_PATH, CallLog, Receiver
from duecourse.cli.local.emulator import aws
from duecourse.cli.local.emulator.environment import LOOPBACK, REGION, is_taken
from duecourse.cli.local.issuer import LocalIssuer
from duecourse.cli.local.project import Project, find_root
from duecourse.cli.local.settings import Settings, choose, locked
from duecourse.cli.local.stack import DataFolder, Stack, local_stack
from duecourse.cli.run_watcher import ListedRuns
from duecourse.client import Client
from duecourse.client.signing import Bearer

FOLDER = Path(".duecourse") / "local"
AUTH_FOLDER = Path(".duecourse") / "local-auth"
"""The data of a stack with authentication."""
TEAMS = ("acme", "globex")
LOCK = "lock"
POLL_SECONDS = 1.0


def hints(
    api: str, console: str | None, endpoint: str, receiver: str, issuer: LocalIssuer | None = None
) -> Iterator[str]:
    """Yield the console's address, the variables that programs need, the tokens of an issuer, a first job, and the
    command for its logs.
    """
    job = {
        "id": "hello",
        "schedule": "rate(10 seconds)",
        "target": {"type": "http", "url": receiver + OK_PATH},
        "payload": {"greeting": "good morning"},
    }
    yield "The stack is running and stores its data in .duecourse; Ctrl-C stops it."
    yield ""
    if console is not None:
        yield "  # the console, for a browser"
        yield f"  {console}"
    if issuer is not None:
        yield "  # no console: the issuer of this stack has no log-in page; without AUTH=1 there is one"
    yield "  # the notifications of the stage, for a browser"
    yield f"  {receiver}{INBOX_PATH}"
    yield "  # for a second terminal: the duecourse command, boto3 and the AWS CLI find this stack by these variables"
    yield "  # (version 1 of the AWS CLI ignores them for SQS; add --endpoint-url $AWS_ENDPOINT_URL)"
    yield f"  export DUECOURSE_API={api}"
    yield f"  export RECEIVER={receiver}{OK_PATH}"
    yield f"  export AWS_ENDPOINT_URL={endpoint} AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test"
    yield f"  export AWS_REGION={REGION} AWS_DEFAULT_REGION={REGION}"
    yield f'  export PATH="{Path(sys.executable).parent}:$PATH"'
    yield from () if issuer is None else token_hints(issuer)
    yield f"  # a first job; its calls are shown here ({FAIL_PATH} instead of {OK_PATH} makes them fail)"
    yield f"  echo '{json.dumps(job)}' | .venv/bin/duecourse jobs create"
    yield "  # the logs of the functions"
    yield "  .venv/bin/duecourse local logs execute"


def running_endpoint() -> str | None:
    """Return the endpoint of a running stack of this checkout whose data is kept, or None if none runs."""
    for folder in (FOLDER, AUTH_FOLDER):
        settings = Settings.read(find_root(Path.cwd()) / folder)
        if settings is not None and is_taken(settings.port):
            return f"http://{LOOPBACK}:{settings.port}"
    return None


def place_of(project: Project, *, auth: bool = False) -> DataFolder:
    """Return the folder in which the data of this checkout's stack is kept."""
    folder = project.root / (AUTH_FOLDER if auth else FOLDER)
    return DataFolder(folder=folder, log=folder / "ministack.log", kept=True)


def issuer_of(folder: Path, settings: Settings) -> LocalIssuer:
    """Return the issuer of a stack with authentication. Its address is that of the receiver."""
    return LocalIssuer.of(folder, f"http://{LOOPBACK}:{settings.receiver_port}")


def token_hints(issuer: LocalIssuer) -> Iterator[str]:
    """Yield the tokens of two teams, for a second terminal."""
    yield "  # each request requires a token; `duecourse local token TEAM --scope ...` issues more than these"
    for team in TEAMS:
        yield f"  export {team.upper()}_TOKEN={issuer.token(team)}"
    yield f"  export DUECOURSE_TOKEN=${TEAMS[0].upper()}_TOKEN"


def run_local(project: Project, screen: Screen, *, port: int | None, fresh: bool, auth: bool = False) -> None:
    """Start everything and wait for an interruption. With `auth` the API requires tokens, which this stack issues."""
    place = place_of(project, auth=auth)
    with ExitStack() as unlocked, locked(place.folder) as announce:
        kept = None if fresh else Settings.read(place.folder)
        settings = choose(kept, port)
        if fresh:
            clear(place)
        place.make()
        settings.write(place.folder)
        try:
            issuer = issuer_of(place.folder, settings) if auth else None
            _run(project, screen, place, settings, kept, announce, issuer)
        finally:
            screen.step("files", "a process in the background deletes the temporary ones")
            unlocked.callback(delete, set_aside(place.temporary))


def set_aside(folder: Path) -> list[Path]:
    """Rename a folder of temporary files, so that the next stack gets a new one. Return all renamed folders, including
    folders of earlier stacks whose deletion was interrupted.

    A busy stack leaves 100,000 files, and their deletion can take minutes.
    """
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name}-{os.getpid()}"))
    return sorted(folder.parent.glob(f"{folder.name}-*"))


def delete(folders: Iterable[Path]) -> subprocess.Popen[bytes]:
    """Delete folders in a process that continues after this one, and return it. Files that cannot be deleted are
    ignored.
    """
    quiet = subprocess.DEVNULL
    command = ["rm", "-rf", "--", *map(str, folders)]
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def clear(place: DataFolder) -> None:
    """Delete all kept data."""
    for each in place.folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.name != LOCK:
            each.unlink()


def _run(
    project: Project,
    screen: Screen,
    place: DataFolder,
    settings: Settings,
    kept: Settings | None,
    announce: Callable[[str], None],
    issuer: LocalIssuer | None,
) -> None:
    log = CallLog()
    documents, context = ({}, {}) if issuer is None else (issuer.documents, issuer.context)
    own = None if issuer is None else Bearer(issuer.token(TEAMS[0]))
    with (
        Receiver(log, settings.receiver_port, documents=documents) as receiver,
        local_stack(project, place, settings.port, screen.step, context) as stack,
        Client(stack.api, auth=own, trust_env=False, timeout=aws.READ_SECONDS) as client,
    ):
        announce(stack.api)
        moved = kept is not None and kept.receiver_port != settings.receiver_port
        said = "; another program uses its former port, so edit the jobs that call it" if moved else ""
        screen.step("receiver", receiver.url + said)
        screen.line()
        for line in hints(stack.api, stack.console, stack.endpoint, receiver.url, issuer):
            screen.line(line)
        screen.line()
        observer = observe(stack, ListedRuns(client, datetime.now(UTC)), log, screen, timedelta())
        observer.follow([""])
        observer.prime()
        # The first tick of the rule is a minute away, and after a break of more than three minutes the stack would be
        # unhealthy until then.
        aws.invoke(stack.endpoint, stack.outputs.tick_function)
        client.get_health()
        Topics.of(stack.outputs).deliver_to(stack.endpoint, receiver.url + NOTICE_PATH)
        screen.step("API", "its jobs fire; their calls and unsuccessful runs are shown here")
        _stay(stack, observer, Arrivals(log, screen))


@dataclass(slots=True)
class Arrivals:
    """Prints each call that the receiver got, exactly once."""

    log: CallLog
    screen: Screen
    shown: int = 0

    def show(self) -> None:
        """Print the calls since the last time."""
        calls = self.log.calls
        for call in calls[self.shown :]:
            self.screen.event(f"received {call.run_id or 'a call'}: {call.body or 'no body'}")
        self.shown = len(calls)


def _stay(stack: Stack, observer: Observer, arrivals: Arrivals) -> None:
    """Observe the stack until the emulator ends. Other errors can be temporary, so they do not end this loop."""
    while True:
        stack.ministack.require_running()
        arrivals.show()
        observer.look(datetime.now(UTC))
        time.sleep(POLL_SECONDS)
