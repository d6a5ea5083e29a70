"""The common parts of the tests of targets behind AWS APIs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from duecourse.adapters.targets.aws.names import Arns
from duecourse.domain.targets.targets import Target
from duecourse.ports import Call
from tests.support.calls import a_call, revised

ARNS = Arns("aws", "eu-west-1", "123456789012")
TOKEN = "dc1.acme.1.s-e-c-r-e-t_0123456789"


def a_waiting_call(target: Target, *, token: str = TOKEN, **fields: Any) -> Call:
    """Return the call of a run that waits for its callback."""
    return revised(a_call(target, **fields), callback_token=token)


def refusal(code: str, status: int, message: str = "because", **headers: str) -> ClientError:
    """Return the exception of boto3 for a service's error."""
    meta = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    return ClientError({"Error": {"Code": code, "Message": message}, "ResponseMetadata": meta}, "Ask")


class Service:
    """A client with one operation, which always has the same response. It records its requests and their timeouts."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.waits: list[int] = []

    def client_for(self, seconds: int) -> Service:
        self.waits.append(seconds)
        return self

    def __getattr__(self, request: str) -> Callable[..., dict[str, Any]]:
        def ask(**fields: Any) -> dict[str, Any]:
            self.asked.append(fields)
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return ask
