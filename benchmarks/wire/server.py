"""The server of the wire, in a separate process: it reads and counts each request, and responds immediately in the real
format. It decides nothing: every condition holds, every message is accepted.

    python -m benchmarks.wire.server CERT   prints its ports (HTTP, and HTTPS with the certificate and key of a file),
                                            serves until its standard input ends
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections import Counter
from typing import Any

import orjson

from benchmarks.wire.billing import Billed, key_of
from benchmarks.wire.capacity import item_bytes

SOURCE = b'{"State":"Enabled","LastProcessingResult":"OK"}'
EMPTY = b"{}"
TARGET = "target"
"""The path of an HTTP target. `POST /target` receives the same response as the invocation of a Lambda function."""
ANSWER = b'{"taken":true}'


class Wire:
    """The data for responses: the pages of the due index, and items by key. `POST /load` sets them."""

    def __init__(self) -> None:
        self.pages: dict[str, list[bytes]] = {}
        self.items: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        self.billed = Billed()
        self.counts: Counter[str] = Counter()

    def answer(self, target: str, body: bytes) -> bytes:
        """Return the body of the response to one request."""
        if target == "load":
            return self._load(body)
        if (told := self._told(target)) is not None:
            return told
        operation = target.partition(".")[2]
        self.counts[operation] += 1
        match operation:
            case "Query":
                return self._page(orjson.loads(body))
            case "GetItem":
                key = key_of(orjson.loads(body)["Key"])
                self.billed.read(self.sizes.get(key, 0))
                return self.items.get(key, EMPTY)
            case "BatchGetItem":
                return self._batch(orjson.loads(body)["RequestItems"])
            case "PutItem":
                self.billed.put(orjson.loads(body)["Item"])
            case "UpdateItem":
                request = orjson.loads(body)
                self.billed.update(request["Key"], request.get("ExpressionAttributeValues", {}))
            case "DeleteItem":
                self.billed.delete(orjson.loads(body)["Key"])
            case "BatchExecuteStatement":
                statements = len(orjson.loads(body)["Statements"])
                self.counts["statements"] += statements
                return b'{"Responses":[' + b",".join([b'{"TableName":"jobs"}'] * statements) + b"]}"
            case "SendMessageBatch":
                entries = orjson.loads(body)["Entries"]
                self.counts["messages"] += len(entries)
                taken = b",".join(
                    b'{"Id":"%s","MessageId":"m","MD5OfMessageBody":"x"}' % entry["Id"].encode() for entry in entries
                )
                return b'{"Successful":[' + taken + b'],"Failed":[]}'
            case "SendMessage":
                self.counts["messages"] += 1
                return b'{"MessageId":"m","MD5OfMessageBody":"x"}'
            case "DeleteMessage" | "GetQueueAttributes":
                pass  # a queue without attributes is empty
            case _:  # an invented response would make a request seem cheaper than it is
                raise ValueError(f"the wire has no answer to {target}: add it here")
        return EMPTY

    def _told(self, target: str) -> bytes | None:
        """Return the response to a request without a body."""
        if target == "counts":
            counts, self.counts = self.counts, Counter()
            return orjson.dumps(counts)
        if target == "units":
            units, self.billed.units = self.billed.units, Counter()
            return orjson.dumps(units)
        if target == TARGET or target.endswith("/invocations"):
            self.counts[TARGET] += 1
            return ANSWER
        return SOURCE if "/event-source-mappings/" in target else None

    def _load(self, body: bytes) -> bytes:
        loaded: dict[str, Any] = orjson.loads(body)
        for slot, page in loaded.get("append", {}).items():
            self.pages.setdefault(slot, []).append(orjson.dumps(page))
        for key, item in loaded.get("items", {}).items():
            self.items[key] = orjson.dumps({"Item": item})
            self.sizes[key] = item_bytes(item)
        if loaded.get("clear"):
            self.pages.clear()
            self.billed.forget()
        return EMPTY

    def _batch(self, requested: dict[str, Any]) -> bytes:
        """Return the items that exist among the keys of all tables. All reads are billed as strongly consistent."""
        found: dict[str, list[Any]] = {}
        for table, asked in requested.items():
            keys = [key_of(key) for key in asked["Keys"]]
            for key in keys:
                self.billed.read(self.sizes.get(key, 0))
            found[table] = [orjson.loads(self.items[key])["Item"] for key in keys if key in self.items]
        return orjson.dumps({"Responses": found, "UnprocessedKeys": {}})

    def _page(self, query: dict[str, Any]) -> bytes:
        """Return page n of a slot. The key for the next page is its number. No entry is only due later (`rare`)."""
        slots = (value.get("S") for value in query["ExpressionAttributeValues"].values())
        pages = next((self.pages[slot] for slot in slots if slot in self.pages), [])
        number = int(query["ExclusiveStartKey"]["page"]["N"]) if "ExclusiveStartKey" in query else 0
        if number >= len(pages) or "FilterExpression" in query:
            return b'{"Items":[],"Count":0,"ScannedCount":0}'
        onward = b'"LastEvaluatedKey":{"page":{"N":"%d"}},' % (number + 1) if number + 1 < len(pages) else b""
        return b"{" + onward + b'"Items":' + pages[number] + b"}"


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, limited to the features that botocore uses."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Respond to every complete request."""
        self.waiting += data
        while (end := self.waiting.find(b"\r\n\r\n")) >= 0:
            head = self.waiting[:end].decode("latin-1")
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
            fields = {name.lower(): value for name, value in fields.items()}
            length = int(fields.get("content-length", 0))
            if len(self.waiting) < end + 4 + length:
                return
            body = self.waiting[end + 4 : end + 4 + length]
            self.waiting = self.waiting[end + 4 + length :]
            path = head.split(" ", 2)[1].lstrip("/")
            answer = self.wire.answer(fields.get("x-amz-target", path), body)
            head_of_answer = (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n"
            )
            self.transport.write(head_of_answer % len(answer) + answer)


async def serve(certificate: str) -> None:
    """Serve on the loopback interface until standard input ends, which happens at the latest when the parent process
    ends.
    """
    loop = asyncio.get_running_loop()
    wire = Wire()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    servers = [await loop.create_server(lambda: Connection(wire), "127.0.0.1", 0, ssl=each) for each in (None, tls)]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
