"""The FIFO queue of dispatch rounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from duecourse.adapters.sqs.batch import batches, send_batch


class SqsShardQueue:
    """Sends dispatch rounds. A shard is a message group, so its rounds run one at a time. There is one round for each
    shard and minute, however often the tick runs.
    """

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def send(self, shards: Iterable[int], minute: int) -> list[int]:
        asked = list(shards)
        entries = (
            (
                shard,
                {
                    "MessageBody": orjson.dumps({"shard": shard, "minute": minute}).decode(),
                    "MessageGroupId": f"{shard:04d}",
                    "MessageDeduplicationId": f"{shard:04d}-{minute}",
                },
            )
            for shard in asked
        )
        accepted: set[int] = set()
        for batch in batches(entries):
            accepted |= send_batch(self._client, self._queue_url, batch).accepted
        return [shard for shard in asked if shard not in accepted]
