"""AWS at the level of HTTP requests: what functions send is answered within this process, in simulated time.

`connect` replaces what all requests are sent by: new connections of the standard library's `socket`, which our own
transport and the calls of HTTP targets use, and urllib3's `urlopen`, which botocore uses. DynamoDB is MiniStack's; the
rest is small and here.
"""

from __future__ import annotations

import copy
import io
import json
import re
import socket
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

import urllib3
from ministack.services import dynamodb as ministack
from urllib3.exceptions import ProtocolError, ReadTimeoutError

from tests.prove import dynamodb
from tests.prove.executions import StateMachines
from tests.prove.faults import Fault, Faults
from tests.prove.plan import compact
from tests.prove.queues import Queue
from tests.prove.simulation import HistoryError, Killed, Simulation
from tests.prove.stage import Deployed
from tests.prove.targets import Connection
from tests.support.answering_socket import AnsweringSocket

if TYPE_CHECKING:
    from tests.prove.world import World

Answer = tuple[int, dict[str, str], bytes]
ONE_TABLE = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan")
PARTIAL = ("SendMessageBatch", "ChangeMessageVisibilityBatch", "BatchGetItem", "BatchExecuteStatement")
EVENTUAL = ("GetItem", "Query", "Scan", "BatchGetItem")
EVENTUAL_SECONDS = 1.0
"""How old the state may be that an eventually consistent read of a table itself shows."""
OVER_SOCKETS = ("dynamodb", "sqs")
"""Services that our own transport asks."""
JSON = {"Content-Type": "application/x-amz-json-1.0", "x-amzn-RequestId": "request"}


@dataclass
class Observed:
    """What an observer of the stage sees without looking into its tables."""

    notices: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    requests: Counter[int] = field(default_factory=Counter)
    """By minute since 1970."""
    sends: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Messages sent to lanes, by job and minute."""
    about: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """When messages about each run were sent to lanes, by its id."""
    starts: Counter[str] = field(default_factory=Counter)
    """How many of them start it at its occurrence: a round and a request may send it at the same time."""
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    total: int = 0
    """Requests."""
    stale: bool = False


@dataclass(eq=False)
class Cloud:
    """The services of one stage."""

    simulation: Simulation
    deployed: Deployed
    faults: Faults
    queues: dict[str, Queue]
    machines: StateMachines | None = None
    observed: Observed = field(default_factory=Observed)
    objects: dict[str, bytes] = field(default_factory=dict)
    latencies: Random = field(default_factory=lambda: Random(0))
    old_items: dict[str, Any] = field(default_factory=dict)
    recent_items: dict[str, Any] = field(default_factory=dict)

    def request(self, host: str, method: str, url: str, headers: Mapping[str, str], body: bytes, wait: float) -> Answer:
        """The answer to a request of the running process. Raises OSError."""
        running = self.simulation.process
        if running.dead:
            raise Killed
        service = host.split(".", maxsplit=1)[0]
        operation = self._operation(service, headers, body)
        self.observed.requests[int(self.simulation.now // 60)] += 1
        self.observed.total += 1
        self.observed.operations[running.name, operation] += 1
        fault = self.faults.meet(running.name, operation)
        kind = None if fault is None else fault.kind
        self.simulation.sleep(self.latencies.expovariate(1 / 0.003) + 0.001)
        if kind == "dies_before":
            self.simulation.kill(running)
        if kind == "partial" and operation in PARTIAL:
            return self._partial(operation, method, host, url, body)
        if kind in ("throttled", "unavailable", "partial"):
            return _refusal(service, str(kind))
        if kind == "unsent":
            raise ConnectionResetError(104, "Connection reset by peer")
        answer = self._effect(fault, service, operation, method, host, url, body, wait)
        if kind == "dies_after":
            self.simulation.kill(running)
        if kind == "lost":
            raise ConnectionResetError(104, "Connection reset by peer")
        self.simulation.sleep(self.latencies.expovariate(1 / 0.002))
        if operation == "StartExecution" and self.machines is not None:
            self.machines.heard(json.loads(answer[2]))
        return answer

    def _partial(self, operation: str, method: str, host: str, url: str, body: bytes) -> Answer:
        """The answer to a batch of which every second entry, and the only one, is refused for now."""
        asked, service = json.loads(body), host.split(".", maxsplit=1)[0]

        def answer(part: Any) -> Any:
            status, _, answered = self._answer(service, operation, method, host, url, json.dumps(part).encode())
            assert status == 200, answered
            return json.loads(answered)

        match operation:
            case "BatchGetItem":
                tables = asked["RequestItems"]
                left = {name: {**each, "Keys": each["Keys"][::2]} for name, each in tables.items()}
                done = {name: {**each, "Keys": each["Keys"][1::2]} for name, each in tables.items() if each["Keys"][1:]}
                made = answer({**asked, "RequestItems": done}) if done else {"Responses": {name: [] for name in tables}}
                made["UnprocessedKeys"] = left
            case "BatchExecuteStatement":
                statements = asked["Statements"]
                refused = {"Error": {"Code": "ProvisionedThroughputExceeded", "Message": "said by the simulated cloud"}}
                done = iter(answer({**asked, "Statements": statements[1::2]})["Responses"] if statements[1:] else ())
                made = {"Responses": [next(done) if number % 2 else refused for number, _ in enumerate(statements)]}
            case _:
                entries, done = asked["Entries"], {"Successful": [], "Failed": []}
                if entries[1:]:
                    done = answer({**asked, "Entries": entries[1::2]})
                failed = [
                    {"Id": each["Id"], "Code": "ThrottlingException", "SenderFault": False} for each in entries[::2]
                ]
                made = {**done, "Failed": [*done["Failed"], *failed]}
        return 200, JSON, json.dumps(made).encode()

    def _effect(
        self,
        fault: Fault | None,
        service: str,
        operation: str,
        method: str,
        host: str,
        url: str,
        body: bytes,
        wait: float,
    ) -> Answer:
        def effect() -> Answer:
            return self._answer(service, operation.partition("/")[0], method, host, url, body)

        if fault is None or fault.kind != "slow":
            return effect()
        if fault.seconds < wait:
            self.simulation.sleep(fault.seconds)
            return effect()
        self.simulation.at(self.simulation.now + fault.seconds, lambda: _ignored(effect))
        self.simulation.sleep(wait)
        raise TimeoutError("timed out")

    def _operation(self, service: str, headers: Mapping[str, Any], body: bytes) -> str:
        """Its name; of DynamoDB with the table: `GetItem/jobs`."""
        target: Any = next((value for name, value in headers.items() if name.lower() == "x-amz-target"), "")
        name = (target.decode() if isinstance(target, bytes) else str(target)).rpartition(".")[2]
        if service == "sns":
            return parse_qs(body.decode())["Action"][0]
        if service == "dynamodb" and name in ONE_TABLE:
            for table in self.deployed.tables:
                if (
                    f'"TableName": "{table["TableName"]}"'.encode() in body
                    or f'"TableName":"{table["TableName"]}"'.encode() in body
                ):
                    return f"{name}/{str(table['TableName']).partition('Table')[0].lower()}"
        return name or "Object"

    def _answer(self, service: str, operation: str, method: str, host: str, url: str, body: bytes) -> Answer:
        match service:
            case "dynamodb":
                return self._dynamodb(operation, body)
            case "sqs":
                return self._sqs(operation, json.loads(body))
            case "sns":
                return self._sns(parse_qs(body.decode()))
            case "events":
                entries = [{"EventId": str(number)} for number, _ in enumerate(json.loads(body)["Entries"])]
                return 200, JSON, json.dumps({"FailedEntryCount": 0, "Entries": entries}).encode()
            case "states" if self.machines is not None:
                status, document = self.machines.answer(operation, json.loads(body))
                return status, JSON, json.dumps(document).encode()
            case "ssm":
                return _json_error(400, "ParameterNotFound")
            case _ if operation == "Object":
                return self._object(method, host + urlsplit(url).path, body)
        raise HistoryError(f"{service} {operation} is not simulated")

    def _dynamodb(self, operation: str, body: bytes) -> Answer:
        old = self._old_items_for(operation, body) if self.observed.stale and operation in EVENTUAL else None
        fresh: dict[str, Any] = {}
        if old is not None:
            for name, items in old.items():
                table = ministack._tables[name]
                fresh[name], table["items"] = table["items"], items
                table.pop("_index_steps", None)
        try:
            status, headers, answered = dynamodb.answer(operation, body)
        finally:
            for name, items in fresh.items():
                ministack._tables[name]["items"] = items
                ministack._tables[name].pop("_index_steps", None)
        if status != 200:
            problem = json.loads(answered)
            problem["__type"] = "com.amazonaws.dynamodb.v20120810#" + problem["__type"].rpartition("#")[2]
            answered = json.dumps(problem).encode()
            headers = {**headers, "x-amz-crc32": str(crc32(answered))}
        return status, {**JSON, **headers}, answered

    def _old_items_for(self, operation: str, body: bytes) -> dict[str, Any] | None:
        if b'"IndexName"' in body:
            return self.old_items
        return None if re.search(rb'"ConsistentRead": ?true', body) else self.recent_items

    def age_reads(self, aged: bool) -> None:
        """While aged, reads of an index show the tables as they are now, and reads of the tables themselves that are
        not strongly consistent as they were up to EVENTUAL_SECONDS before."""
        self.observed.stale = aged
        if aged:
            self.old_items = self._items()
            self._remember()

    def _remember(self) -> None:
        if self.observed.stale:
            self.recent_items = self._items()
            self.simulation.at(self.simulation.now + EVENTUAL_SECONDS, self._remember)

    def _items(self) -> dict[str, Any]:
        return {
            str(table["TableName"]): copy.deepcopy(ministack._tables[table["TableName"]]["items"])
            for table in self.deployed.tables
        }

    def _sqs(self, operation: str, asked: dict[str, Any]) -> Answer:
        queue = self.queues.get(asked["QueueUrl"].rpartition("/")[2])
        if queue is None:
            return _json_error(400, "QueueDoesNotExist")
        match operation:
            case "SendMessageBatch":
                answer: Any = {"Successful": [self._sent(queue, entry) for entry in asked["Entries"]], "Failed": []}
            case "SendMessage":
                answer = self._sent(queue, asked)
            case "ReceiveMessage":
                found = queue.receive(asked.get("MaxNumberOfMessages", 1), asked.get("VisibilityTimeout"))
                answer = {
                    "Messages": [
                        {"MessageId": each.id, "ReceiptHandle": each.receipt, "Body": each.body} for each in found
                    ]
                }
            case "DeleteMessage":
                answer = {} if queue.delete(asked["ReceiptHandle"]) else None
            case "ChangeMessageVisibility":
                if not queue.hide(asked["ReceiptHandle"], asked["VisibilityTimeout"]):
                    return _json_error(400, "MessageNotInflight")
                answer = {}
            case "ChangeMessageVisibilityBatch":
                done = {
                    each["Id"]: queue.hide(each["ReceiptHandle"], each["VisibilityTimeout"])
                    for each in asked["Entries"]
                }
                answer = {
                    "Successful": [{"Id": each} for each, good in done.items() if good],
                    "Failed": [
                        {"Id": each, "Code": "MessageNotInflight", "SenderFault": True}
                        for each, good in done.items()
                        if not good
                    ],
                }
            case "GetQueueAttributes":
                answer = {"Attributes": queue.attributes()}
            case _:
                raise HistoryError(f"sqs {operation} is not simulated")
        return 200, JSON, json.dumps(answer).encode()

    def _sent(self, queue: Queue, entry: dict[str, Any]) -> dict[str, Any]:
        body = entry["MessageBody"]
        if not queue.settings.fifo and '"job_id"' in body:
            said = json.loads(body)
            self.observed.sends[said["job_id"], int(self.simulation.now // 60)] += 1
            run = f"{said['job_id']}.{compact(said['occurrence'])}{said.get('suffix', '')}"
            self.observed.about[run].append(self.simulation.now)
            self.observed.starts[run] += said["not_before"] == said["due"]
        name = queue.send(
            body, entry.get("DelaySeconds", 0), entry.get("MessageGroupId"), entry.get("MessageDeduplicationId")
        )
        return {"Id": entry.get("Id", ""), "MessageId": name, "MD5OfMessageBody": ""}

    def _sns(self, asked: dict[str, list[str]]) -> Answer:
        self.observed.notices.append((self.simulation.now, json.loads(asked["Message"][0])))
        text = "<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>"
        return 200, {"Content-Type": "text/xml"}, text.encode()

    def _object(self, method: str, key: str, body: bytes) -> Answer:
        if method == "PUT":
            self.objects[key] = body
            return 200, {"ETag": '"1"'}, b""
        if key in self.objects:
            return 200, {"ETag": '"1"', "Content-Length": str(len(self.objects[key]))}, self.objects[key]
        return 404, {"Content-Type": "text/xml"}, b"<Error><Code>NoSuchKey</Code></Error>"


def _ignored(effect: Callable[[], Answer]) -> None:
    effect()


def _refusal(service: str, kind: str) -> Answer:
    if kind == "unavailable":
        return 503, {"Content-Type": "text/plain"}, b"Service Unavailable"
    match service:
        case "dynamodb":
            return _json_error(400, "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException")
        case "sqs":
            return _json_error(400, "com.amazonaws.sqs#RequestThrottled")
        case "sns":
            text = (
                "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>"
            )
            return 400, {"Content-Type": "text/xml"}, text.encode()
    return _json_error(400, "ThrottlingException")


def _json_error(status: int, code: str) -> Answer:
    return status, JSON, json.dumps({"__type": code, "message": "said by the simulated cloud"}).encode()


def connect(current: Callable[[], World | None]) -> None:
    """Let all requests of urllib3 and all connections of `socket` go to that world; there is no network beside it."""

    def urlopen(
        pool: Any, method: str, url: str, body: Any = None, headers: Any = None, *_: Any, **named: Any
    ) -> urllib3.HTTPResponse:
        timeout = named.get("timeout", pool.timeout)
        wait = timeout.read_timeout if isinstance(timeout, urllib3.Timeout) else timeout
        sent = body.read() if hasattr(body, "read") else (body or b"")
        try:
            status, answered, data = ask(
                pool.host, method, url, headers or {}, sent.encode() if isinstance(sent, str) else sent, wait or 60.0
            )
        except TimeoutError:
            raise ReadTimeoutError(pool, url, f"Read timed out. (read timeout={wait})") from None
        except OSError as problem:
            raise ProtocolError("Connection aborted.", problem) from None
        return urllib3.HTTPResponse(
            body=io.BytesIO(data),
            headers=answered,
            status=status,
            reason="simulated",
            preload_content=named.get("preload_content", True),
            decode_content=False,
            request_method=method,
        )

    def ask(host: str, method: str, url: str, headers: Mapping[str, str], body: bytes, wait: float) -> Answer:
        world = current()
        if world is None:
            raise HistoryError(f"{method} {host}{url} outside of a history")
        return world.cloud.request(host, method, url, headers, body, wait)

    def dial(address: tuple[str, int], *_: Any, **__: Any) -> Any:
        host, _port = address
        world = current()
        if host.partition(".")[0] in OVER_SOCKETS:
            return AnsweringSocket(lambda asked, wait: ask(host, asked.method, "/", asked.headers, asked.body, wait))
        if world is None:
            raise HistoryError(f"a connection to {host} outside of a history")
        return Connection(world.targets)

    urllib3.HTTPConnectionPool.urlopen = urlopen  # type: ignore[method-assign, assignment]
    socket.create_connection = dial  # type: ignore[assignment]
