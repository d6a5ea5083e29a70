"""MiniStack's DynamoDB in this process, asked without botocore: a table of faults takes a hundred thousand requests.

What botocore makes of requests and answers is tested wherever else a client of production asks an emulator.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from duecourse.ports import ServiceError


class DirectClient:
    """Has the methods of boto3's client that are asked for, `put_item` and the like."""

    def __init__(self) -> None:
        from ministack.services.dynamodb import handle_request  # half a second, for those who need it

        self._handle = handle_request

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = "".join(word.capitalize() for word in name.split("_"))

        def ask(**asked: Any) -> Any:
            return self._ask(operation, asked)

        return ask

    def _ask(self, operation: str, asked: dict[str, Any]) -> Any:
        headers = {"x-amz-target": f"DynamoDB_20120810.{operation}", "content-type": "application/x-amz-json-1.0"}
        answering = self._handle("POST", "/", headers, json.dumps(asked).encode(), {})
        try:
            answering.send(None)
        except StopIteration as done:
            status, _, body = done.value
            answer = json.loads(body)
            if status < 400:
                return answer
            code, message = answer.pop("__type").rpartition("#")[2], answer.pop("message", "")
            raise ServiceError(code, message, status=status, answer=answer) from None
        raise AssertionError("the emulator's answer would have to be waited for")


@cache
def dynamodb() -> DirectClient:
    """A client of tables that live as long as this process."""
    return DirectClient()
