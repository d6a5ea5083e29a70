"""Frequent requests to DynamoDB and SQS, signed and sent directly by urllib3 at botocore's public hook `before-call`.

Between that hook and the parsed response, botocore copies the request, signs it with a general algorithm, applies retry
rules and parses by the service's model: most of the CPU time of a small request. Without this module, a run needs 1.5
times the CPU time over TLS, and dispatch 1.4 times (docs/decisions/009-aws-clients.md). This module accepts only a
plain response. In all other cases botocore repeats the request, with its retries and errors.

The signature is Version 4 of a POST to a service's root (AWS General Reference, "Create a signed AWS API request").
botocore's signer supports any request and derives its key each time; this module caches the key, which is valid for a
day.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from time import gmtime, strftime, time
from typing import Any
from urllib.parse import urlsplit

import orjson
import urllib3
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, HTTPClientError, ReadTimeoutError
from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

ALGORITHM = "AWS4-HMAC-SHA256"
_SIGNED = ("content-type", "host", "x-amz-date", "x-amz-security-token", "x-amz-target")
"""Headers, in the order of their names, that are signed where they are there."""

OPERATIONS = {
    "sqs": ("SendMessageBatch",),
    "dynamodb": ("BatchExecuteStatement", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
}
"""Operations with requests and responses in JSON without blobs and timestamps (ours have none), so that the response
needs no model to be read by.
"""

_CA_BUNDLES = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")
"""Where the environment names authorities for botocore; the first counts."""

_OK = 200

_REFUSED = range(400, 500)
"""HTTP statuses by which a service reports that it has changed nothing. For any other but 200 it is unknown."""

_UNHEARD = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
"""After these nothing has been sent."""

_FAILED = 500

_CONDITION_FAILED = "ConditionalCheckFailedException"
"""The one error that is a plain response: each message that comes twice ends with it."""


@dataclass(slots=True)
class Signer:
    """Of one service in one region. Safe to share between threads: at worst a key is derived twice."""

    service: str
    region: str
    _key: tuple[tuple[str, str], bytes] = field(default=(("", ""), b""), repr=False)

    def sign(self, headers: dict[str, str], host: str, body: bytes, credentials: Any, at: str) -> None:
        """Add what signs a request to its headers. `at` is its instant, `20261121T064700Z`; `credentials` have an
        access_key, a secret_key and perhaps a token.
        """
        headers["X-Amz-Date"] = at
        if credentials.token:
            headers["X-Amz-Security-Token"] = credentials.token
        lower = {name.lower(): value for name, value in headers.items()}
        lower["host"] = host
        lines = [(name, lower[name]) for name in _SIGNED if name in lower]
        names = ";".join(name for name, _ in lines)
        said = "".join(f"{name}:{value}\n" for name, value in lines)
        request = f"POST\n/\n\n{said}\n{names}\n{sha256(body).hexdigest()}"
        scope = f"{at[:8]}/{self.region}/{self.service}/aws4_request"
        text = f"{ALGORITHM}\n{at}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._derived(credentials.secret_key, at[:8]), text.encode(), "sha256").hex()
        key = f"{credentials.access_key}/{scope}"
        headers["Authorization"] = f"{ALGORITHM} Credential={key}, SignedHeaders={names}, Signature={signature}"

    def _derived(self, secret: str, day: str) -> bytes:
        known, key = self._key
        if known != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self.region, self.service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = (secret, day), key
        return key


def install_direct_transport(
    client: Any, service: str, credentials: Any, *, connect: float, read: float, connections: int, once: bool
) -> None:
    """Send the client's frequent requests directly, with these timeouts (seconds) and `credentials` (those of its
    session, None: it has none). `once`: a request whose fate is unknown is not made again.

    Certificates are checked against the authorities that botocore trusts. Behind a proxy, or where the
    endpoint has a path, botocore makes all requests.
    """
    operations, url = OPERATIONS.get(service, ()), client.meta.endpoint_url.removesuffix("/")
    parts = urlsplit(url)
    if not operations or credentials is None or parts.path or parts.port in {80, 443} or get_environ_proxies(url):
        return
    trust = {}
    if parts.scheme == "https":
        named = next((bundle for name in _CA_BUNDLES if (bundle := os.environ.get(name))), None)
        trust = {"cert_reqs": "CERT_REQUIRED", "ca_certs": get_cert_path(named or True)}
    timeout = urllib3.Timeout(connect=connect, read=read)
    pool = urllib3.connection_from_url(url, maxsize=connections, timeout=timeout, retries=False, **trust)
    transport = _DirectTransport(url, pool, Signer(service, client.meta.region_name), credentials, once=once)
    for operation in operations:
        client.meta.events.register_last(f"before-call.{service}.{operation}", transport)


@dataclass(frozen=True, slots=True)
class _DirectTransport:
    url: str
    pool: urllib3.HTTPConnectionPool
    signer: Signer
    credentials: Any
    now: Callable[[], float] = time
    once: bool = False

    def __call__(self, params: dict[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]] | None:
        """Botocore's hook before a call: a response replaces the call, None lets the call continue."""
        url: str = params["url"]
        if url.removesuffix("/") != self.url:
            return None
        headers = dict(params["headers"].items())
        at = strftime("%Y%m%dT%H%M%SZ", gmtime(self.now()))
        self.signer.sign(headers, urlsplit(url).netloc, params["body"], self.credentials.get_frozen_credentials(), at)
        try:
            answer = self.pool.urlopen("POST", "/", params["body"], headers, redirect=False, assert_same_host=False)
            return self._plain(answer)
        except _UNHEARD:
            return None
        except (urllib3.exceptions.HTTPError, ValueError) as problem:
            if self.once:
                raise _as_botocore(url, problem) from problem
            return None

    def _plain(self, answer: urllib3.BaseHTTPResponse) -> tuple[AWSResponse, dict[str, Any]] | None:
        """Raises ValueError for an invalid response."""
        if answer.status == _OK:
            return _answered(answer, orjson.loads(answer.data))
        if answer.status not in _REFUSED:
            error = {"Code": str(answer.status), "Message": answer.reason or "no reason given"}
            return _answered(answer, {"Error": error}, status=max(answer.status, _FAILED)) if self.once else None
        if _CONDITION_FAILED.encode() not in answer.data:
            return None
        said = orjson.loads(answer.data)
        if not said.get("__type", "").endswith(f"#{_CONDITION_FAILED}"):
            return None
        error = {"Code": _CONDITION_FAILED, "Message": said.get("message", said.get("Message", ""))}
        found = {"Item": said["Item"]} if "Item" in said else {}
        return _answered(answer, {"Error": error, **found})


def _answered(
    answer: urllib3.BaseHTTPResponse, document: dict[str, Any], status: int | None = None
) -> tuple[AWSResponse, dict[str, Any]]:
    """The pair that botocore continues with (it takes what is below 300 for a success), with what it adds to
    answers.
    """
    code = answer.status if status is None else status
    about = {"RequestId": answer.headers.get("x-amzn-requestid", ""), "HTTPStatusCode": code, "RetryAttempts": 0}
    return AWSResponse("", code, {}, None), {**document, "ResponseMetadata": about}


def _as_botocore(url: str, problem: Exception) -> HTTPClientError:
    """The error by which botocore would say it."""
    match problem:
        case urllib3.exceptions.ReadTimeoutError():
            return ReadTimeoutError(endpoint_url=url, error=problem)
        case urllib3.exceptions.ProtocolError():
            return ConnectionClosedError(endpoint_url=url, error=problem)
        case _:
            return HTTPClientError(error=problem)
