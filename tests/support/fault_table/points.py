"""The writes on the way of a firing, named after what the clients send."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from duecourse.messages import RunMessage
from duecourse.ports import Outgoing
from tests.support.client_faults import Request

NAMES = {
    "batch_execute_statement": "BatchExecuteStatement",
    "batch_write_item": "BatchWriteItem",
    "delete_item": "DeleteItem",
    "put_item": "PutItem",
    "transact_write_items": "TransactWriteItems",
    "update_item": "UpdateItem",
}
SEND, DELETE, CALL, NOTICE, EVENT = "send", "delete message", "call", "notice", "event"


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """The `ordinal`-th time (from 1) that a component asks for a write of that kind."""

    component: str
    operation: str
    what: str
    ordinal: int = 1

    def __str__(self) -> str:
        times = "" if self.ordinal == 1 else f", no. {self.ordinal}"
        return f"{self.component}: {self.operation} {self.what}{times}"


def written(request: Request) -> tuple[str, str]:
    """What a request of DynamoDB writes, and the keys of that: who writes the same there again repeats the write."""
    parts = list(_parts(request.operation, request.asked))
    counted = Counter(part for part, _ in parts)
    return " + ".join(_times(part, count) for part, count in counted.items()), ";".join(key for _, key in parts)


def sent(outgoing: Sequence[Outgoing]) -> str:
    """What a request to lanes sends."""
    counted = Counter(_message(each.message) for each in outgoing)
    return " + ".join(_times(what, count) for what, count in counted.items())


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{count} x {what}"


def _message(message: RunMessage) -> str:
    if message.watch is not None:
        return "watch of the wait queue"
    if message.waited:
        return f"call of a waiting run ({message.kind})"
    range_ = " of a range" if message.count > 1 else ""
    return f"{message.kind}, attempt {message.attempt}{range_}"


def _parts(operation: str, asked: dict[str, Any]) -> Iterable[tuple[str, str]]:
    match operation:
        case "put_item":
            yield _item(asked["Item"])
        case "update_item" | "delete_item":
            yield _item(asked["Key"])
        case "transact_write_items":
            for write in asked["TransactItems"]:
                ((kind, part),) = write.items()
                what, key = _item(part.get("Item") or part["Key"])
                if kind != "ConditionCheck":
                    yield (what if kind != "Delete" else f"no {what}"), key
        case "batch_write_item":
            for requests in asked["RequestItems"].values():
                for each in requests:
                    yield _item(each["PutRequest"]["Item"])
        case "batch_execute_statement":
            for each in asked["Statements"]:
                texts = [value["S"] for value in each["Parameters"] if "S" in value]
                partition, sort = next((at, texts[n + 1]) for n, at in enumerate(texts) if at.startswith("JOB#"))
                yield _item({"PK": {"S": partition}, "SK": {"S": sort}})
        case other:
            raise AssertionError(f"{other} is no write")


def _item(item: dict[str, Any]) -> tuple[str, str]:
    partition, sort = item["PK"]["S"], item["SK"]["S"]
    what = (
        sort.partition("#")[0]
        if partition.startswith(("JOB#", "CHANGES#"))
        else f"{partition.partition('#')[0]}/{sort.partition('#')[0]}"
    )
    if "state" in item and what in ("RUN", "JOB"):
        what = f"{what} {item['state']['S']}"
    return what, f"{partition}/{sort}"
