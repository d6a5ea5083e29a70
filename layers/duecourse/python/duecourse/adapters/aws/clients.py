"""boto3 clients, created once at first use, with timeouts that fit a Lambda function.

The endpoint is the endpoint of AWS. For a local stack, boto3 reads it from `AWS_ENDPOINT_URL`.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from time import time
from typing import Any

import boto3
from botocore.config import Config

from duecourse.adapters.aws.direct_transport import install_direct_transport
from duecourse.adapters.aws.fast_json import install_fast_json
from duecourse.adapters.aws.tracing import drop_trace_lineage
from duecourse.version import VERSION

_CONNECT_SECONDS = 2
_READ_SECONDS = 5
_ATTEMPTS = 4
_SHORT = (1, 3, 3)
"""The same for a function with a waiting caller: 12 s at most (with the pauses between the attempts), of its 29; and 3
s more where a request went the short way first (direct_transport.py)."""
_CONNECTIONS = 32  # ten runs of a batch side by side, each with a few requests
_CALLING_CLIENTS = 16
_FRESH_SECONDS = 10
"""For so long a client for calls is used, and its connections with it. While an environment is frozen, the other side
may end a connection without its being heard ("Lambda purges idle connections over time": AWS Lambda Developer Guide,
Best practices); the next request on it fails, and costs a run its attempt. Our own requests are simply repeated.
"""
_USER_AGENT = f"duecourse/{VERSION} Boto3/{boto3.__version__}"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Temporary credentials of a role. `expires_at` is UTC seconds."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False)
    expires_at: float


class AwsClients:
    """One factory for all clients of a process. Safe to share between threads, as the clients are."""

    def __init__(
        self,
        session: boto3.Session | None = None,
        *,
        endpoint_url: str | None = None,
        read_seconds: int = _READ_SECONDS,
        now: Callable[[], float] = time,
    ) -> None:
        """All four are for tests; without the first two, credentials and region come from the environment. So many
        `read_seconds` our own infrastructure may be silent. `now` is in UTC seconds: a clock that never stops
        while an environment is frozen.
        """
        self._session = session
        self._endpoint_url = endpoint_url
        self._read_seconds = read_seconds
        self._now = now
        self._clients: dict[tuple[str, bool, bool], Any] = {}
        self._calling: OrderedDict[tuple[str, int, Credentials | None], tuple[float, Any]] = OrderedDict()
        self._lock = Lock()  # a session must not make two clients at once

    def get(self, service: str, *, short_timeouts: bool = False, once: bool = False) -> Any:
        """The client of our own infrastructure: short timeouts, a few attempts with backoff (throttling included);
        `short_timeouts` ones are shorter, and fewer. `once`: a single attempt, for requests that must not be repeated.
        """
        connect, read, attempts = _SHORT if short_timeouts else (_CONNECT_SECONDS, self._read_seconds, _ATTEMPTS)
        with self._lock:
            client = self._clients.get((service, short_timeouts, once))
            if client is None:
                client = self._make(service, connect, read, 1 if once else attempts)
                install_fast_json(client, service)
                drop_trace_lineage(client, service)
                credentials = self._session.get_credentials() if self._session else None
                install_direct_transport(
                    client, service, credentials, connect=connect, read=read, connections=_CONNECTIONS, once=once
                )
                self._clients[service, short_timeouts, once] = client
            return client

    def calling(self, service: str, seconds: int, credentials: Credentials | None = None) -> Any:
        """A client for calls to targets: waits `seconds` for the response and never sends a request twice, because
        attempts are ours to count. With `credentials` it acts in their name and checks its requests' parameters, which
        are then a job's own. Raises BotoCoreError for a service that is unknown here.

        botocore's timeout belongs to the client, so there is one client per whole number of seconds. The first of a
        service reads its model (0.1 s), each further one costs 2 to 5 ms; the last sixteen used are kept, none for more
        than ten seconds. The timeout is a bound for the whole call as long as the service answers at once when it
        answers, as Lambda does.
        """
        key = (service, seconds, credentials)
        with self._lock:
            made, client = self._calling.pop(key, (0.0, None))
            if client is None or not 0 <= self._now() - made < _FRESH_SECONDS:
                # An old one is not closed: another thread may still be waiting for its response.
                made = self._now()
                client = self._make(service, min(_CONNECT_SECONDS, seconds), seconds, 1, credentials)
            self._calling[key] = made, client
            if len(self._calling) > _CALLING_CLIENTS:
                self._calling.popitem(last=False)
            return client

    def _make(
        self, service: str, connect: int, read: int, attempts: int, credentials: Credentials | None = None
    ) -> Any:
        if self._session is None:
            # boto3 itself reads AWS_DEFAULT_REGION only; Lambda sets both, people often just AWS_REGION.
            self._session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
        config = Config(
            connect_timeout=connect,
            read_timeout=read,
            retries={"mode": "standard", "total_max_attempts": attempts},
            tcp_keepalive=True,
            max_pool_connections=_CONNECTIONS,
            # A fifth of the client's CPU per request; our own types come before it, except where a job says it all.
            parameter_validation=credentials is not None,
            # Built once: botocore would build its own text again for each request, a tenth of its cost.
            user_agent=_USER_AGENT,
        )
        if service == "s3":
            config = config.merge(self._s3_config())
        keys = {}
        if credentials is not None:
            keys = {
                "aws_access_key_id": credentials.access_key_id,
                "aws_secret_access_key": credentials.secret_access_key,
                "aws_session_token": credentials.session_token,
            }
        return self._session.client(service, config=config, endpoint_url=self._endpoint_url, **keys)

    def _s3_config(self) -> Config:
        """Links must work as they are signed. On AWS: the bucket's own regional host, since botocore would sign for the
        global one, which redirects (and the signature is void then). On a local stack: its one host for all buckets.
        """
        custom = self._endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return Config(signature_version="s3v4", s3={"addressing_style": "path" if custom else "virtual"})


@cache
def clients() -> AwsClients:
    """The factory of this process."""
    return AwsClients()


class LazyClient:
    """Makes its client at the first request: a cold start pays only for the services that its first event needs."""

    def __init__(self, service: str, *, short_timeouts: bool = False, once: bool = False) -> None:
        self._service = service
        self._short_timeouts = short_timeouts
        self._once = once

    def __getattr__(self, request: str) -> Any:
        """A request of the client, such as `send_message`."""
        return getattr(clients().get(self._service, short_timeouts=self._short_timeouts, once=self._once), request)


def client(service: str, *, short_timeouts: bool = False, once: bool = False) -> Any:
    """The client of this process for a part of our own infrastructure; see `AwsClients.get`."""
    return LazyClient(service, short_timeouts=short_timeouts, once=once)
