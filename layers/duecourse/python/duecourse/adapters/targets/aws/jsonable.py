"""An answer of boto3 as JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from botocore.response import StreamingBody

from duecourse.adapters.targets.answer import READ_BYTES, cut
from duecourse.adapters.targets.http.deadline import Deadline

_CHUNK_BYTES = 16 * 1024


def result_of(answer: Mapping[str, Any], deadline: Deadline) -> Any:
    """What is kept of an answer: all but its metadata. Times are ISO-8601, bytes base64; a body that streams is read up
    to 256 KB, as text where it is UTF-8 and base64 where not. An answer of more than 256 KB is the beginning of its
    text: `{"truncated": true, "text": …}`. Raises TimeoutError and, when the stream breaks, botocore's errors.
    """
    plain = {name: _plain(value, deadline) for name, value in answer.items() if name != "ResponseMetadata"}
    text = orjson.dumps(plain)
    if len(text) > READ_BYTES:
        return {"truncated": True, "text": cut(text, READ_BYTES)}
    return orjson.loads(text)


def _plain(value: Any, deadline: Deadline) -> Any:
    match value:
        case dict():
            return {str(key): _plain(inner, deadline) for key, inner in value.items()}
        case list() | tuple():
            return [_plain(inner, deadline) for inner in value]
        case datetime():
            return value.isoformat()
        case bytes():
            return b64encode(value).decode()
        case StreamingBody():
            return _read(value, deadline)
        case bool() | float() | str() | None:
            return value
        case int() if value.bit_length() < 64:
            return value
        case _:
            return str(value)


def _read(body: StreamingBody, deadline: Deadline) -> str:
    data = b""
    with body as stream:
        while len(data) < READ_BYTES and (chunk := stream.read(min(_CHUNK_BYTES, READ_BYTES - len(data)))):
            data += chunk
            deadline.left()  # raises when there is no time left: a socket's own time-out starts anew with each read
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()
