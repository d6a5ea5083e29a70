"""Serializes and parses long lists without botocore's generic code, which walks the service's model value by value.

A round of dispatch spends most of its CPU time on that: a page of the due index has 15,000 attribute values. The lists
contain JSON as the services accept and return it (no blobs, no timestamps), so orjson needs microseconds instead of
milliseconds. botocore does everything else: endpoint, signature, retries, errors.

Three hooks of botocore are used: `before-parameter-build` removes the list, `before-call` adds it to the body, and
`before-parse` reads the response.
"""

from __future__ import annotations

from typing import Any

import orjson

_OK = 200
_TAKEN = "duecourse_list"

SENT: dict[str, dict[str, tuple[str, ...]]] = {
    "sqs": {"SendMessageBatch": ("Entries",)},
    "dynamodb": {
        "BatchExecuteStatement": ("Statements",),
        "PutItem": ("Item", "ExpressionAttributeValues"),
        "UpdateItem": ("ExpressionAttributeValues",),
    },
}
"""Operations with large requests, and the names of their fields."""

READ = {"sqs": ("SendMessageBatch",), "dynamodb": ("Query", "BatchExecuteStatement")}
"""Operations with a long list in their answer."""


def install_fast_json(client: Any, service: str) -> None:
    """Let the client's requests with long lists take the short way. Only for clients whose lists are our own: nothing
    checks them.
    """
    events = client.meta.events
    for operation, names in SENT.get(service, {}).items():
        events.register(f"before-parameter-build.{service}.{operation}", _Take(names))
        events.register(f"before-call.{service}.{operation}", _put)
    for operation in READ.get(service, ()):
        events.register(f"before-parse.{service}.{operation}", _read)


class _Take:
    """Keeps what is long back from the serialiser."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __call__(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        taken = {name: params.pop(name) for name in self._names if name in params}
        context[_TAKEN] = orjson.dumps(taken)[1:-1]


def _put(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    """Into the body, which is a JSON object."""
    taken: bytes = context.pop(_TAKEN)
    if taken:
        body: bytes = params["body"].rstrip()
        comma = b"" if body == b"{}" else b","
        params["body"] = body[:-1] + comma + taken + b"}"


def _read(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """A response that succeeded. Errors are left to botocore."""
    if response_dict["status_code"] == _OK:
        customized_response_dict.update(orjson.loads(response_dict["body"]))
        response_dict["body"] = b"{}"
