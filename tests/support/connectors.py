"""Connectors in this process: a client of Lambda that passes each event to the connector, as JSON."""

import io
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from duecourse.adapters.targets.http.connector import through
from duecourse.adapters.targets.http.http import HttpCaller, Send
from duecourse.adapters.targets.http.relay import InsideClient, Relay
from duecourse.domain.targets.targets import Connector, HttpTarget
from duecourse.ports import Call, Clock, Secrets
from duecourse.testing.clock import SettableClock

OFFICE = Connector(
    name="office",
    function="Duecourse-test-via-office",
    tenants=("acme", "test-tenant"),
    hosts=("*.corp.example", "10.1.2.3"),
    cidrs=("10.0.0.0/8",),
)
ANYWHERE = replace(OFFICE, hosts=("*",), cidrs=("0.0.0.0/0", "::/0"))
"""A connector that an operator has limited to nothing at all."""

REBOUND = [
    ["127.0.0.1"],
    ["10.0.0.7"],
    ["169.254.169.254"],
    ["fd00:ec2::254"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["::ffff:169.254.169.254"],
    ["64:ff9b::a9fe:a9fe"],
    ["93.184.216.34", "10.0.0.7"],
]
"""Addresses to which a name may resolve, at least one of which is not public."""

LOCAL_NOTATIONS = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "127.1", "0x7f000001", "0"]
"""Hosts of URLs that stand for the machine itself."""


def relay(connector: Connector = ANYWHERE, *, private: bool = True, **client: Any) -> Relay:
    """A connector; by default, one of stage `local`, which also calls loopback addresses."""
    return Relay(InsideClient(SettableClock(1_795_243_620.0), private=private, connector=connector, **client))


@dataclass
class Lambda:
    """What workers need of boto3's client of Lambda. With an `error`, it rejects each invocation with that code; with
    `failure`, the function answers with this FunctionError.
    """

    relay: Relay
    events: list[dict[str, Any]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    error: Exception | None = None
    failure: str | None = None
    answer: bytes | None = None

    def for_seconds(self, seconds: int) -> "Lambda":
        """The client with this read timeout."""
        self.waits.append(seconds)
        return self

    def invoke(self, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert (FunctionName, InvocationType) == (self.relay.client.connector.function, "RequestResponse")
        self.events.append(json.loads(Payload))
        if self.error is not None:
            raise self.error
        said = json.dumps(self.relay(self.events[-1])).encode() if self.answer is None else self.answer
        answer = {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(said), len(said))}
        return answer | ({} if self.failure is None else {"FunctionError": self.failure})


def refused(code: str, status: int = 400) -> ClientError:
    """The error of an invocation that Lambda rejects."""
    response: Any = {
        "Error": {"Code": code, "Message": "Rate Exceeded."},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "Invoke")


class ConnectedCaller(HttpCaller):
    """Calls each target through a connector."""

    def transport(self, call: Call, target: HttpTarget) -> Send:
        return HttpCaller.transport(self, call, replace(target, via=OFFICE.name))


def connected(
    clock: Clock, secrets: Secrets, client: Lambda, *, caller: type[HttpCaller] = ConnectedCaller, **fields: Any
) -> HttpCaller:
    """A caller whose workers may use the connector of this client."""
    connectors: Mapping[str, Connector] = {OFFICE.name: client.relay.client.connector}

    def connector(call: Call, name: str) -> Send:
        return through(call, name, connectors, client.for_seconds)

    return caller(clock, private=True, secrets=secrets, connector=connector, **fields)


def unknown_name(host: str, port: int) -> list[str]:
    """A resolver that knows no name."""
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
