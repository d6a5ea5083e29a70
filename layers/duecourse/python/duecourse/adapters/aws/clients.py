"""Clients of AWS services, created once at first use, with timeouts that fit a Lambda function.

The transport of this package (transport.py) sends the frequent requests to DynamoDB and SQS, and the invocations of
targets on Lambda. boto3 sends all other requests, and is imported for the first of these.

The endpoints are those of AWS. For a local stack, boto3 reads the endpoint from `AWS_ENDPOINT_URL`.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf
from secrets import token_hex
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from duecourse.adapters.aws import transport
from duecourse.adapters.aws.functions import Functions
from duecourse.adapters.aws.tracing import drop_trace_lineage
from duecourse.adapters.system import SystemRandomness, system_trust
from duecourse.ports import AwsError, NoAnswerError, ServiceError
from duecourse.version import VERSION

if TYPE_CHECKING:
    import ssl

    import boto3
    from botocore.config import Config

_CONNECT_SECONDS = 2
_READ_SECONDS = 5
_ATTEMPTS = 4
_SHORT = (1, 3, 3)
"""The connect timeout, read timeout and attempts for a function with a waiting caller: at most 12 s, including the
pauses between attempts, of the 29 s that the function has.
"""
_CONNECTIONS = 32  # ten runs of a batch concurrently, each with a few requests
_CALLING_CLIENTS = 16
_FRESH_SECONDS = 10
"""How long a client for calls is used, and how long a connection for calls may be idle. While an environment is frozen,
the other side may close a connection without notice ("Lambda purges idle connections over time": AWS Lambda Developer
Guide, Best practices). The next request on that connection fails and costs the run an attempt. Requests to the
infrastructure of the stage are retried instead.
"""
_USER_AGENT = f"duecourse/{VERSION}"
_CA_BUNDLES = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
"""Environment variables that specify certificate authorities for AWS. The first that is set is used."""

_SUFFIXES = {
    "cn": "amazonaws.com.cn",
    **dict.fromkeys(("af", "ap", "ca", "eu", "il", "me", "mx", "sa", "us"), "amazonaws.com"),
}
_ENDPOINT_SETTINGS = ("AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
_PROXIES = ("all_proxy", "http_proxy", "https_proxy")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Temporary credentials of a role. `expires_at` is in UTC seconds."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False)
    expires_at: float


@dataclass(frozen=True, slots=True)
class _Access:
    """The endpoint of a service, its region and the credentials for requests."""

    url: str
    region: str
    credentials: Callable[[], Any]

    @classmethod
    def from_environment(cls, service: str, endpoint_url: str | None) -> _Access | None:
        """Return the access that Lambda's environment variables describe, or None if they are incomplete."""
        keys = transport.Credentials(
            os.environ.get("AWS_ACCESS_KEY_ID", ""),
            os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
            os.environ.get("AWS_SESSION_TOKEN") or None,
        )
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
        if not all((keys.access_key, keys.secret_key, region)) or any(map(os.environ.get, _ENDPOINT_SETTINGS)):
            return None
        url = (
            endpoint_url or os.environ.get(f"AWS_ENDPOINT_URL_{service.upper()}") or os.environ.get("AWS_ENDPOINT_URL")
        )
        part, _, rest = region.partition("-")
        if url is None and part in _SUFFIXES and not rest.startswith(("iso", "sc")):
            url = f"https://{service}.{region}.{_SUFFIXES[part]}"
        return None if url is None else cls(url, region, lambda: keys)


class Client:
    """The client of a service of the stage's infrastructure. It has the methods of boto3's client, uses the transport
    of this package for requests that it supports, and raises ports.AwsError. Safe to share between threads.
    """

    def __init__(
        self,
        service: str,
        boto3_client: Callable[[], Any],
        direct: Callable[[Callable[[], Any]], transport.Transport | None],
    ) -> None:
        """`boto3_client` creates the client of boto3. `direct` creates the transport of this package; it receives a
        function that returns boto3's client.
        """
        self._operations = transport.OPERATIONS.get(service, {})
        self._make = boto3_client
        self._make_direct = direct
        self._lock = RLock()
        self._made: dict[str, Any] = {}

    @property
    def boto3(self) -> Any:
        """The client of boto3."""
        return self._once("boto3", self._make)

    @property
    def direct(self) -> transport.Transport | None:
        """The transport of this package, or None if boto3 must send all requests."""
        found: transport.Transport | None = self._once("direct", lambda: self._make_direct(lambda: self.boto3))
        return found

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    self._made[name] = make()
        return self._made[name]

    def close(self) -> None:
        """Close idle connections."""
        direct: transport.Transport | None = self._made.get("direct")
        if direct is not None:
            direct.connections.close()
        if "boto3" in self._made:
            self.boto3.close()

    def __getattr__(self, name: str) -> Any:
        """Return a method of the client, such as `send_message`."""
        operation = self._operations.get(name)
        found = self._by_boto3(name) if operation is None else partial(self._ask, name, operation)
        setattr(self, name, found)
        return found

    def _ask(self, name: str, operation: str, **asked: Any) -> Any:
        direct = self.direct
        if operation == "TransactWriteItems":  # DynamoDB recognizes a retry by this token
            asked.setdefault("ClientRequestToken", token_hex(16))
        if direct is not None:
            try:
                return direct.ask(operation, asked)
            except transport.UnusualError:
                pass
        return self._by_boto3(name)(**asked)

    def _by_boto3(self, name: str) -> Any:
        found = getattr(self.boto3, name)
        return partial(_with_our_errors, found) if callable(found) else found


def _with_our_errors(method: Callable[..., Any], *words: Any, **asked: Any) -> Any:
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as NoConnectionError

    try:
        return method(*words, **asked)
    except ClientError as problem:
        said: dict[str, Any] = dict(problem.response)
        status = said.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        error = said.get("Error", {})
        raise ServiceError(error.get("Code", ""), error.get("Message", ""), status=status, answer=said) from problem
    except (NoConnectionError, HTTPClientError) as problem:
        raise NoAnswerError(f"{type(problem).__name__}: {problem}") from problem
    except BotoCoreError as problem:
        raise AwsError(f"{type(problem).__name__}: {problem}") from problem


class AwsClients:
    """One factory for all clients of a process. Safe to share between threads, as are its clients."""

    def __init__(
        self,
        session: boto3.Session | None = None,
        *,
        endpoint_url: str | None = None,
        read_seconds: int = _READ_SECONDS,
        now: Callable[[], float] = time.time,
        dial: transport.Dial | None = None,
    ) -> None:
        """All five arguments are for tests. Without the first two, credentials and region are read from the
        environment. `read_seconds` is the read timeout for the infrastructure of the stage. `now` returns UTC seconds
        from a clock that continues while an environment is frozen. `dial` connects the transport of this package.
        """
        self._session = session
        self._given = session is not None
        self._endpoint_url = endpoint_url
        self._read_seconds = read_seconds
        self._now = now
        self._dial = dial
        self._clients: dict[tuple[str, bool, bool], Client] = {}
        self._calling: OrderedDict[tuple[str, int, Credentials | None], tuple[float, Any]] = OrderedDict()
        self._lock = Lock()  # a session must not create two clients at the same time

    def get(self, service: str, *, short_timeouts: bool = False, once: bool = False) -> Client:
        """Return the client for a service of the stage's infrastructure. It has timeouts of seconds, and makes a few
        attempts with backoff, also after throttling. With `short_timeouts`, its timeouts are shorter and it makes fewer
        attempts. With `once`, it makes a single attempt, for requests that must not be repeated.
        """
        connect, read, attempts = _SHORT if short_timeouts else (_CONNECT_SECONDS, self._read_seconds, _ATTEMPTS)
        attempts = 1 if once else attempts
        with self._lock:
            client = self._clients.get((service, short_timeouts, once))
            if client is None:
                client = Client(
                    service,
                    partial(self._infrastructure, service, connect, read, attempts),
                    partial(self._transport, service, connect, read, attempts),
                )
                self._clients[service, short_timeouts, once] = client
            return client

    def _infrastructure(self, service: str, connect: int, read: int, attempts: int) -> Any:
        with self._lock:
            client = self._make(service, connect, read, attempts)
        drop_trace_lineage(client, service)
        return client

    def _transport(
        self, service: str, connect: int, read: int, attempts: int, boto3_client: Callable[[], Any]
    ) -> transport.Transport | None:
        """Return the transport for a service. Returns None if boto3 must send all requests: there are no credentials, a
        proxy is configured, or the endpoint has a path.
        """
        access = None if self._given else _Access.from_environment(service, self._endpoint_url)
        if access is None:
            meta = boto3_client().meta
            credentials = self._session.get_credentials() if self._session else None
            if credentials is None:
                return None
            access = _Access(meta.endpoint_url, meta.region_name, credentials.get_frozen_credentials)
        parts = urlsplit(access.url)
        host, secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        if parts.path.strip("/") or _proxied(parts.scheme, parts.netloc):
            return None
        return transport.Transport(
            signer=transport.Signer(service, access.region, parts.netloc.removesuffix(f":{443 if secure else 80}")),
            credentials=access.credentials,
            connections=transport.Connections(
                host,
                port,
                connect,
                read,
                _CONNECTIONS,
                trust=_trust if secure else None,
                dial=self._dial,
                idle_seconds=_FRESH_SECONDS if service == "lambda" else inf,
                now=self._now,
            ),
            attempts=attempts,
            now=self._now,
            sleep=time.sleep,
            draw=SystemRandomness().draw,
        )

    def calling(self, service: str, seconds: int, credentials: Credentials | None = None) -> Any:
        """Return a client for calls to targets. It waits `seconds` for the response and never repeats a request,
        because each request counts as an attempt of a run. With `credentials` it uses these, and validates the
        parameters of its requests, which then come from a job. Raises BotoCoreError for an unknown service. The client
        of Lambda without `credentials` is Functions: it creates boto3's only if a call needs it.

        botocore's timeout belongs to the client, so there is one client for each whole number of seconds. The first
        client of a service reads its model (0.1 s), and each further client costs 2 to 5 ms. The last sixteen clients
        are kept, each for at most ten seconds. The timeout bounds the whole call if the service sends its response in
        one piece.
        """
        key = (service, seconds, credentials)
        with self._lock:
            made, client = self._calling.pop(key, (0.0, None))
            if client is None or not 0 <= self._now() - made < _FRESH_SECONDS:
                # An old client is not closed: another thread may still be waiting for its response.
                made, connect = self._now(), min(_CONNECT_SECONDS, seconds)
                if service == "lambda" and credentials is None:
                    boto3_client = partial(self._infrastructure, service, connect, seconds, 1)
                    client = Functions(seconds, lambda: self.get("lambda", once=True).direct, boto3_client)
                else:
                    client = self._make(service, connect, seconds, 1, credentials)
            self._calling[key] = made, client
            if len(self._calling) > _CALLING_CLIENTS:
                self._calling.popitem(last=False)
            return client

    def _make(
        self, service: str, connect: int, read: int, attempts: int, credentials: Credentials | None = None
    ) -> Any:
        import boto3
        from botocore.config import Config

        if self._session is None:
            # boto3 only reads AWS_DEFAULT_REGION. Lambda sets both variables, but users often set only AWS_REGION.
            self._session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
        config = Config(
            connect_timeout=connect,
            read_timeout=read,
            retries={"mode": "standard", "total_max_attempts": attempts},
            tcp_keepalive=True,
            max_pool_connections=_CONNECTIONS,
            # Validation takes a fifth of the client's CPU per request. The types of this package replace it, except if
            # the parameters come from a job.
            parameter_validation=credentials is not None,
            # A constant: botocore would build the text again for each request, at a tenth of the request's cost.
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
        """Return a configuration of S3 with which presigned links work. On AWS, the bucket's regional host is used:
        botocore would sign for the global host, which redirects and so invalidates the signature. A local stack has one
        host for all buckets.
        """
        from botocore.config import Config

        custom = self._endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return Config(signature_version="s3v4", s3={"addressing_style": "path" if custom else "virtual"})


@cache
def _trust() -> ssl.SSLContext:
    import ssl

    bundle = next((found for name in _CA_BUNDLES if (found := os.environ.get(name))), None)
    return system_trust() if bundle is None else ssl.create_default_context(cafile=bundle)


def _proxied(scheme: str, authority: str) -> bool:
    """Return whether the environment configures a proxy for such requests."""
    if not any(name.lower() in _PROXIES for name in os.environ):
        return False
    from urllib.request import getproxies, proxy_bypass

    named = getproxies()
    return bool({scheme, "all"} & named.keys()) and not proxy_bypass(authority)


@cache
def clients() -> AwsClients:
    """Return the factory of this process."""
    return AwsClients()


def client(service: str, *, short_timeouts: bool = False, once: bool = False) -> Client:
    """Return the client of this process for a service of the stage's infrastructure. See `AwsClients.get`."""
    return clients().get(service, short_timeouts=short_timeouts, once=once)
