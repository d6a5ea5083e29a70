"""What to do with a local stack that is up, ready to be copied into a shell."""

from __future__ import annotations

import json
from collections.abc import Iterator

from duecourse_cli.local.demo.receiver import OK_PATH
from duecourse_cli.local.emulator.environment import REGION


def hints(api: str, endpoint: str, receiver: str) -> Iterator[str]:
    """A first job, its runs, and how AWS tools reach the stack."""
    job = {
        "id": "hello",
        "schedule": "rate(10 seconds)",
        "target": {"type": "http", "url": receiver + OK_PATH},
        "payload": {"hello": "world"},
    }
    yield "The stack is up and keeps its data in .duecourse/local; Ctrl-C stops it."
    yield ""
    yield "  # a first job, with curl"
    yield f"  curl '{api}/v1/jobs' -H 'Content-Type: application/json' -d '{json.dumps(job)}'"
    yield "  # the same API for the duecourse command"
    yield f"  export DUECOURSE_API={api}"
    yield "  .venv/bin/duecourse runs hello"
    yield "  # the stack for AWS tools"
    yield (
        f"  export AWS_ENDPOINT_URL={endpoint} AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION={REGION}"
    )
    yield "  # what the functions log"
    yield "  .venv/bin/duecourse local logs execute"
