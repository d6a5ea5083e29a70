"""Measure a dispatch round and a tick without due work, with the handlers of their functions and the wire stub: their
CPU time, requests and log.

    python -m benchmarks.cost.idle_round        one JSON document: {"round": {"cpu_ms": 3.1, ...}, "tick": …}

This runs in a separate process, because a handler logs to the standard output of its process.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from time import process_time, time
from types import SimpleNamespace
from typing import Any

from benchmarks.cost.idle import TICK_SHARDS, IdleRound
from benchmarks.wire.client import WireAt, wire
from duecourse.domain.jobs.cursor import BUCKET_SECONDS, bucket_of
from duecourse.usecases.dispatch.round import WATERMARK_LAG_SECONDS

ROOT = Path(__file__).resolve().parents[2]
SHARD = 7
WARM, ROUNDS = 50, 400
LOOKAHEAD = 300
QUEUE = "http://127.0.0.1/000000000000/normal"
ENVIRONMENT = {
    "DUECOURSE_STAGE": "bench",
    "DUECOURSE_JOBS_TABLE": "jobs",
    "DUECOURSE_RUNS_TABLE": "runs",
    "DUECOURSE_SHARDS": str(TICK_SHARDS),
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "DUECOURSE_SHARD_QUEUE_URL": "http://127.0.0.1/000000000000/shards.fifo",
    "DUECOURSE_LETTERS_URLS": "http://127.0.0.1/000000000000/archive",
    "DUECOURSE_PING_URL": "none",
    "DUECOURSE_PRIVATE_TARGETS": "refuse",
    "DUECOURSE_ACCOUNT_CONCURRENCY": "1000",
    "DUECOURSE_ARCHIVE_SOURCE": "00000000-0000-0000-0000-000000000000",
    "DUECOURSE_LOOKAHEAD_SECONDS": str(LOOKAHEAD),
    "DUECOURSE_HORIZON_SECONDS": "840",
    "DUECOURSE_RUN_RETENTION_DAYS": "90",
    "DUECOURSE_BUS_NAME": "bus",
    "DUECOURSE_CALLBACK_URL": QUEUE,
    "POWERTOOLS_SERVICE_NAME": "duecourse",
    "POWERTOOLS_METRICS_NAMESPACE": "Duecourse",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    **{f"DUECOURSE_{of}_URL_{lane}": QUEUE for of in ("QUEUE", "BULK") for lane in ("HIGH", "NORMAL", "LOW", "LONG")},
}
FUNCTION = "Duecourse-prod-DispatchWorkerFunction0123456789AB"
CONTEXT: Any = SimpleNamespace(
    function_name=FUNCTION,
    memory_limit_in_mb=1024,
    invoked_function_arn=f"arn:aws:lambda:us-east-1:000000000000:function:{FUNCTION}",
    aws_request_id="00000000-0000-0000-0000-000000000000",
    get_remaining_time_in_millis=lambda: 50_000,
)


def measured() -> dict[str, IdleRound]:
    """Measure `round` and `tick` in another process. Raises subprocess.CalledProcessError."""
    command = [sys.executable, "-m", "benchmarks.cost.idle_round"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return {name: IdleRound(**figures) for name, figures in json.loads(done.stdout.splitlines()[-1]).items()}


def measure() -> dict[str, IdleRound]:
    """Measure in this process, which has logged nothing yet."""
    written, now = io.StringIO(), time()
    watermark = bucket_of(now - WATERMARK_LAG_SECONDS)
    with wire() as at, redirect_stdout(written):
        os.environ.update(ENVIRONMENT)
        at.put(
            {
                f"SHARD#{SHARD}/WATERMARK": {"bucket": {"S": watermark}},
                "SHARDS/HIGHEST": {"shards": {"N": str(TICK_SHARDS)}},
                # The last tick has found nothing overdue; otherwise this one would look at each shard again.
                "TICK/LAST": {"overdue": {"S": ""}}
                | {
                    name: {"N": str(now)}
                    for name in ("at", "overdue_at", "ended_reconcile", "ended_repair", "ended_audit")
                },
            }
        )
        from functions.dispatch.handler import handler as dispatch  # imported here, after the environment is complete
        from functions.tick.handler import handler as tick

        message = {"Records": [{"body": json.dumps({"shard": SHARD, "minute": int(now) // 60})}]}
        a_round = _measured(lambda: dispatch(message, CONTEXT), at, written)
        a_tick = _measured(lambda: tick({}, CONTEXT), at, written)
    ahead = LOOKAHEAD / BUCKET_SECONDS - looks_ahead(now)
    return {
        "round": replace(a_round, queries=round(a_round.queries + ahead, 3)),
        "tick": replace(a_tick, queries=round(a_tick.queries + TICK_SHARDS * ahead, 3)),
    }


def _measured(run: Callable[[], object], at: WireAt, written: io.StringIO) -> IdleRound:
    for _ in range(WARM):
        run()
    at.counts()
    written.seek(0)
    written.truncate()
    began = process_time()
    for _ in range(ROUNDS):
        run()
    cpu = process_time() - began
    counts = at.counts()
    counts.pop("messages", None)  # their requests are already counted
    reads, queries = counts.pop("GetItem", 0), counts.pop("Query", 0)
    return IdleRound(
        cpu_ms=round(1000 * cpu / ROUNDS, 3),
        reads=reads / ROUNDS,
        queries=queries / ROUNDS,
        others=sum(counts.values()) / ROUNDS,
        log_bytes=round(len(written.getvalue().encode()) / ROUNDS),
    )


def looks_ahead(now: float) -> bool:
    """Return whether a round also reads the next hour's bucket: in the last five minutes of each hour."""
    return bucket_of(now + LOOKAHEAD) != bucket_of(now)


if __name__ == "__main__":
    print(json.dumps({name: asdict(figures) for name, figures in measure().items()}))
