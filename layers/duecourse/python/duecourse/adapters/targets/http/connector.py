"""Calls of HTTP targets through a connector: the worker's side. The connector's side is relay.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from duecourse.adapters.targets.aws.aws_call import ClientFor, wait_of
from duecourse.adapters.targets.http.connection import Deadline, HttpAnswer, HttpRequest
from duecourse.adapters.targets.http.http import RequestError, Send
from duecourse.adapters.targets.http.wire import MAX_EVENT_BYTES, Asked, Unanswered, answer_of, request_document
from duecourse.adapters.targets.invocation import READ_BYTES, Redaction
from duecourse.domain.targets.connectors import connector_named, connector_refusal
from duecourse.domain.targets.targets import CONNECTOR_UNAVAILABLE, Connector, Connectors, TaskTarget
from duecourse.ports import Call, ServiceError

_MARGIN_SECONDS = 0.5
"""The connector has this much less time than the worker, at most a tenth of it, so that its answer arrives before the
worker stops waiting.
"""

_DETAIL_BYTES = 500
"""The maximum size of an error in the log."""

_MAYBE = "; the call may still take effect"

_PERMANENT = frozenset({"address_refused"})
"""The codes of connectors after which another attempt would fail too."""


def through(call: Call, name: str, connectors: Connectors, lambda_for: ClientFor) -> Send:
    """Return a function that sends the request of a call through a connector. `lambda_for` returns clients of Lambda.
    Raises RequestError if the stage does not have the connector, or the tenant may not use it any longer.

    The target of a registered task was chosen by the operator, so each tenant may use its connector.
    """
    connector = connector_named(name, connectors)
    of_task = isinstance(call.job.target, TaskTarget) and connector is not None
    if not of_task and (problem := connector_refusal(call.run.tenant, name, connectors)):
        raise RequestError(f"http target: {name[:40]} {problem}", code="connector_not_allowed")
    if connector is None:
        raise RequestError(f"the stage has no connector {name[:40]}", code="connector_not_allowed")
    return _Through(connector, lambda_for).send


@dataclass(frozen=True, slots=True)
class _Through:
    connector: Connector
    client_for: ClientFor

    def send(self, request: HttpRequest, deadline: Deadline) -> HttpAnswer:
        """Have the connector send the request, once. Raises TimeoutError and RequestError."""
        left = deadline.left()
        asked = Asked(request, left - min(_MARGIN_SECONDS, left / 10), READ_BYTES)
        event = orjson.dumps(request_document(asked))
        if len(event) > MAX_EVENT_BYTES:
            text = f"{request.name}: the request is too large for a connector ({len(event)} bytes as JSON)"
            raise RequestError(text, code="request_too_large")
        try:
            body = self._invoked(request, event, deadline)
        except (ReadTimeoutError, TimeoutError):
            raise TimeoutError from None
        except ServiceError as refused:
            raise self._refused(request, refused.code, refused.message) from None
        except ClientError as refused:
            error = refused.response.get("Error", {})
            raise self._refused(request, error.get("Code"), error.get("Message")) from None
        except (BotoCoreError, ResponseParserError, OSError) as problem:
            name = type(problem).__name__
            raise self._unavailable(request, f"did not answer ({name}){_MAYBE}", name) from None
        try:
            answer = answer_of(orjson.loads(body))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            name = type(problem).__name__  # its message may have a part of a secret
            raise self._unavailable(request, f"sent no valid answer{_MAYBE}", name) from None
        match answer:
            case Unanswered(code="timeout"):
                raise TimeoutError
            case Unanswered(code=code, reason=reason):
                text = f"{request.name} via {self.connector.name}: {reason}"
                raise RequestError(text, code=code, retryable=code not in _PERMANENT)
            case HttpAnswer():
                return answer

    def _invoked(self, request: HttpRequest, event: bytes, deadline: Deadline) -> bytes:
        """Return the answer of the connector's function. Raises RequestError if it failed, and the errors of the
        client: its own (Functions.invoke) or boto3's.
        """
        given: dict[str, Any] = self.client_for(wait_of(deadline)).invoke(
            FunctionName=self.connector.function, InvocationType="RequestResponse", Payload=event
        )
        with given["Payload"] as stream:
            body: bytes = stream.read()
        if word := given.get("FunctionError"):
            raise self._unavailable(request, f"failed{_MAYBE}", f"{word}: {body.decode(errors='replace')}")
        return body

    def _refused(self, request: HttpRequest, code: object, message: object) -> RequestError:
        return self._unavailable(request, f"was not invoked ({code})", f"{code}: {message}")

    def _unavailable(self, request: HttpRequest, said: str, detail: str) -> RequestError:
        """Return the error of a connector that did not answer. `said` is for tenants, and `detail` for operators: it is
        logged, so it must not contain the secrets of the request.
        """
        whole = detail.encode(errors="replace")
        part = whole[:_DETAIL_BYTES]
        shown = Redaction(request.secrets).data(part, broken_off=part != whole).decode(errors="replace")
        text, function = f"the connector {self.connector.name} {said}", self.connector.function
        return RequestError(text, code=CONNECTOR_UNAVAILABLE, retryable=True, detail=f"{function}: {shown}")
