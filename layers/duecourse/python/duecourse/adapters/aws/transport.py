"""Frequent requests to DynamoDB, SQS and Lambda: signed, sent over persistent connections, and retried, without boto3.

For a small request boto3 takes six times the CPU of this module: it builds the request from the service's model, signs
with a general algorithm, sends through two libraries and parses by the model. Its import takes longer than the rest of
a cold start (docs/decisions/009-aws-clients.md). This module reads only plain responses: HTTP/1.1 with a length, a JSON
document, an error code. Any other response raises UnusualError, and the caller sends the request with boto3. Calls of
targets must not be repeated: `http.client` reads what this module does not (timed.py).

Retries follow the standard mode of AWS's SDKs (AWS SDKs and Tools Reference Guide, "Retry behavior"). The signature is
Version 4 of a POST (AWS General Reference, "Create a signed AWS API request").
"""

from __future__ import annotations

import hmac
import select
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from math import inf
from threading import Lock
from time import gmtime, monotonic, strftime, time
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from duecourse.adapters.aws.timed import Timed, by_http_client
from duecourse.limits import LENGTH_DIGITS
from duecourse.ports import THROTTLED, TRANSIENT, NoAnswerError, ServiceError
from duecourse.version import VERSION

ALGORITHM = "AWS4-HMAC-SHA256"

OPERATIONS: Mapping[str, Mapping[str, str]] = {
    "dynamodb": {
        "batch_execute_statement": "BatchExecuteStatement",
        "batch_get_item": "BatchGetItem",
        "batch_write_item": "BatchWriteItem",
        "delete_item": "DeleteItem",
        "get_item": "GetItem",
        "put_item": "PutItem",
        "query": "Query",
        "scan": "Scan",
        "transact_write_items": "TransactWriteItems",
        "update_item": "UpdateItem",
    },
    "sqs": {
        "change_message_visibility": "ChangeMessageVisibility",
        "change_message_visibility_batch": "ChangeMessageVisibilityBatch",
        "delete_message": "DeleteMessage",
        "get_queue_attributes": "GetQueueAttributes",
        "receive_message": "ReceiveMessage",
        "send_message": "SendMessage",
        "send_message_batch": "SendMessageBatch",
    },
}
"""The supported operations by the names of their boto3 methods. Their requests and responses are JSON as the adapters
use them, without blobs and timestamps.
"""

_TARGETS = {"dynamodb": "DynamoDB_20120810", "sqs": "AmazonSQS"}
_QUERY_MODE = {"sqs": (("x-amzn-query-mode", "true"),)}
"""With this header SQS uses the error codes of its older protocol."""

_CHUNK = 65_536
_MOST_HEAD = 65_536
_MOST_BODY = 64 * 1024 * 1024
"""Larger than DynamoDB's largest response (16 MB)."""

_STATUSES = frozenset({500, 502, 503, 504})
"""HTTP statuses after which a request is retried."""

_SIGNING = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
"""Errors that concern the signature, the credentials or the clock. boto3 signs the request again."""

_QUOTA = 500
_RETRY_COST = 5
_TIMEOUT_COST = 10
_LONGEST_PAUSE_SECONDS = 20


class UnusualError(Exception):
    """A response that this module does not read. With `refused` (a status from 400 to 499) the request changed nothing;
    otherwise its effect is unknown.
    """

    def __init__(self, what: str, *, refused: bool = False) -> None:
        super().__init__(what)
        self.refused = refused


class StaleError(ConnectionError):
    """A reused connection failed before the first byte of a response."""


class ConnectTimeoutError(ConnectionError):
    """No connection was established in time. This error and the next two have the names of botocore's errors, because
    the records of runs contain these names.
    """


class EndpointConnectionError(ConnectionError):
    """No connection was established."""


class ConnectionClosedError(ConnectionError):
    """The connection failed before the response was complete."""


class Credentials(NamedTuple):
    """Credentials with the attribute names of botocore, so that botocore's credentials can also be used."""

    access_key: str
    secret_key: str
    token: str | None


@dataclass(slots=True)
class Signer:
    """Signs requests for one service in one region and one host. Thread-safe: at worst a key is derived twice."""

    service: str
    region: str
    host: str
    _key: tuple[tuple[str, str], bytes] = field(default=(("", ""), b""), repr=False)

    def request(self, operation: str, body: bytes, credentials: Any, at: float) -> bytes:
        """Return the signed HTTP request of an operation at an instant (UTC seconds)."""
        headers = [
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", f"{_TARGETS[self.service]}.{operation}"),
            *_QUERY_MODE.get(self.service, ()),
        ]
        return self.post("/", "", headers, body, credentials, at)

    def post(
        self,
        path: str,
        query: str,
        headers: Iterable[tuple[str, str]],
        body: bytes,
        credentials: Any,
        at: float,
        unsigned: Iterable[tuple[str, str]] = (),
    ) -> bytes:
        """Return the signed HTTP request that posts a body at an instant (UTC seconds). Path and query (of at most one
        parameter) are percent-encoded; the signature encodes the path again. The names of headers are in lower case.
        The `unsigned` headers are not part of the signature.
        """
        instant = _instant(int(at))
        day = instant[:8]
        bare = [*headers, ("host", self.host), ("x-amz-date", instant)]
        if credentials.token:
            bare.append(("x-amz-security-token", credentials.token))
        bare.sort()
        signed = ";".join([name for name, _ in bare])
        lines = "".join([f"{name}:{value}\n" for name, value in bare])
        encoded = path.replace("%", "%25")
        canonical = f"POST\n{encoded}\n{query}\n{lines}\n{signed}\n{sha256(body).hexdigest()}"
        scope = f"{day}/{self.region}/{self.service}/aws4_request"
        text = f"{ALGORITHM}\n{instant}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(self._derived(credentials.secret_key, day), text.encode(), "sha256").hex()
        sent = "".join([f"{name}: {value}\r\n" for name, value in (*bare, *unsigned)])
        return (
            f"POST {path}{query and '?'}{query} HTTP/1.1\r\n{sent}authorization: {ALGORITHM} "
            f"Credential={credentials.access_key}/{scope}, SignedHeaders={signed}, Signature={signature}\r\n"
            f"user-agent: duecourse/{VERSION}\r\ncontent-length: {len(body)}\r\n\r\n"
        ).encode() + body

    def _derived(self, secret: str, day: str) -> bytes:
        known, key = self._key
        if known != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self.region, self.service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = (secret, day), key
        return key


@lru_cache(maxsize=2)
def _instant(second: int) -> str:
    return strftime("%Y%m%dT%H%M%SZ", gmtime(second))


class Response(NamedTuple):
    """An HTTP response. The names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes | bytearray


Dial = Callable[[tuple[str, int], float], Any]
"""A function that returns a connected socket. The second argument is a timeout in seconds."""


@dataclass(slots=True)
class Connections:
    """Connections to one host, kept open while they are idle. Safe to share between threads: a connection is used by
    one thread at a time.
    """

    host: str
    port: int
    connect_seconds: float
    read_seconds: float
    most: int
    trust: Callable[[], ssl.SSLContext] | None = None
    """The TLS context, for https."""
    dial: Dial | None = None
    idle_seconds: float = inf
    """How long a connection may be idle before it is used again (seconds)."""
    now: Callable[[], float] = time
    """Returns UTC seconds, from a clock that continues while an environment is frozen."""
    _idle: list[tuple[float, Any]] = field(default_factory=list, repr=False)

    def exchange(self, request: bytes, *, again: bool) -> Response:
        """Send a request and return the response. With `again`, the request is sent once more on a new connection if a
        reused connection fails before the first byte of a response. Raises OSError (StaleError, TimeoutError) or
        UnusualError.
        """
        sock = self._kept()
        if sock is not None:
            try:
                return self._exchange(sock, request, used=True)
            except StaleError:
                self.close()  # the other idle connections have probably ended too
                if not again:
                    raise
        return self._exchange(self._secured(self._dialled(self.connect_seconds)), request, used=False)

    def call(self, request: bytes, seconds: float) -> Response:
        """Send a request once, and return the response in any form of HTTP/1 before `seconds` have passed. Raises
        EndpointConnectionError or ConnectTimeoutError if nothing was sent, TimeoutError, ssl.SSLError or
        ConnectionClosedError.
        """
        until = monotonic() + seconds
        sock = self._kept()
        used = sock is not None
        try:
            if sock is None:
                sock = self._secured(self._reached(min(self.connect_seconds, seconds)))
            return self._exchange(sock, request, used=used, until=until)
        except (EndpointConnectionError, ConnectTimeoutError, TimeoutError, ssl.SSLError):
            raise
        except OSError as problem:
            if isinstance(problem, StaleError):
                self.close()  # as in `exchange`
            raise ConnectionClosedError(str(problem)) from problem

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop()[1].close()

    __del__ = close

    def _kept(self) -> Any | None:
        """Return the idle connection that was used last. A connection with something to read has ended."""
        while self._idle:
            try:
                since, sock = self._idle.pop()
            except IndexError:  # another thread took it
                break
            ready = select.poll()
            ready.register(sock, select.POLLIN)
            if 0 <= self.now() - since < self.idle_seconds and not ready.poll(0):
                return sock
            sock.close()
        return None

    def _dialled(self, seconds: float) -> Any:
        return (self.dial or socket.create_connection)((self.host, self.port), seconds)

    def _reached(self, seconds: float) -> Any:
        try:
            return self._dialled(seconds)
        except TimeoutError as problem:
            raise ConnectTimeoutError(str(problem)) from problem
        except OSError as problem:
            raise EndpointConnectionError(str(problem)) from problem

    def _secured(self, sock: Any) -> Any:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self.trust is not None:
                sock = self.trust().wrap_socket(sock, server_hostname=self.host)
            sock.settimeout(self.read_seconds)
        except BaseException:
            sock.close()
            raise
        return sock

    def _exchange(self, sock: Any, request: bytes, *, used: bool, until: float | None = None) -> Response:
        peer = sock if until is None else Timed(sock, until)
        try:
            try:
                peer.sendall(request)
                received = _more(peer.recv(_CHUNK))
            except TimeoutError:
                raise
            except OSError as problem:
                if used:
                    raise StaleError(str(problem)) from problem
                raise
            try:
                answer, reusable = _read(peer, received)
            except UnusualError:
                if not isinstance(peer, Timed):
                    raise
                answer, reusable = Response(*by_http_client(peer, _MOST_BODY)), False
        except BaseException:
            sock.close()
            raise
        surplus = isinstance(sock, ssl.SSLSocket) and sock.pending()  # the rest of the last TLS record
        if reusable and not surplus and len(self._idle) < self.most:
            self._idle.append((self.now(), sock))
        else:
            sock.close()
        return answer


def _read(sock: Any, received: bytes) -> tuple[Response, bool]:
    """Return the response that starts with `received`, and whether the connection can be reused."""
    while (end := received.find(b"\r\n\r\n")) < 0:
        if len(received) > _MOST_HEAD:
            raise UnusualError("the headers of the response are too long")
        received += _more(sock.recv(_CHUNK))
    status_line, *lines = received[:end].decode("latin-1").split("\r\n")
    version, _, status = status_line.partition(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length, status = headers.get("content-length", ""), status[:3]
    if version != "HTTP/1.1" or not status.isdecimal() or not 200 <= int(status) < 600:
        raise UnusualError(f"the response begins with {status_line[:100]!r}")
    sized = length.isdecimal() and len(length) <= LENGTH_DIGITS
    if len(headers) < len(lines):  # a header is repeated
        sized = sized and received[:end].lower().count(b"\r\ncontent-length:") == 1
    if "transfer-encoding" in headers or "content-encoding" in headers or not sized:
        raise UnusualError("the body of the response is encoded or has no length", refused=400 <= int(status) < 500)
    if int(length) > _MOST_BODY:
        raise UnusualError("the response is too large", refused=400 <= int(status) < 500)
    body: bytes | bytearray = received[end + 4 :]
    reusable = len(body) <= int(length) and headers.get("connection", "").lower() != "close"
    if len(body) < int(length):
        whole = bytearray(int(length))
        whole[: len(body)] = body
        view = memoryview(whole)[len(body) :]
        while view:
            view = view[_more(sock.recv_into(view)) :]
        body = whole
    return Response(int(status), headers, body if len(body) == int(length) else body[: int(length)]), reusable


def _more(received: Any) -> Any:
    if not received:
        raise ConnectionResetError("the connection ended before the response was complete")
    return received


@dataclass(slots=True)
class Transport:
    """Sends requests to one service. Safe to share between threads."""

    signer: Signer
    credentials: Callable[[], Any]
    connections: Connections
    attempts: int
    now: Callable[[], float]
    sleep: Callable[[float], None]
    draw: Callable[[], float]
    _quota: int = _QUOTA
    _lock: Lock = field(default_factory=Lock, repr=False)

    def ask(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the document of its successful response. Raises ServiceError, NoAnswerError if no
        complete response was received, or UnusualError if boto3 must send the request.
        """
        body, spent = orjson.dumps(asked), 0
        for attempt in range(1, self.attempts + 1):
            cost = _RETRY_COST
            error: ServiceError | NoAnswerError
            try:
                request = self.signer.request(operation, body, self.credentials(), self.now())
                document = _document(self.connections.exchange(request, again=self.attempts > 1))
            except UnusualError as problem:
                if self.attempts > 1 or problem.refused:
                    raise
                raise NoAnswerError(f"{operation}: {problem}") from problem
            except ServiceError as problem:
                if problem.status not in _STATUSES and problem.code not in THROTTLED | TRANSIENT:
                    raise
                error = problem
            except OSError as problem:
                error = NoAnswerError(f"{operation}: {type(problem).__name__}: {problem}")
                error.__cause__ = problem
                cost = _TIMEOUT_COST if isinstance(problem, TimeoutError) else _RETRY_COST
            else:
                self._give_back(spent or 1)
                return document
            if attempt == self.attempts or not self._taken(cost):
                raise error
            spent = cost
            self.sleep(self.draw() * min(2 ** (attempt - 1), _LONGEST_PAUSE_SECONDS))
        raise AssertionError("unreachable")

    def call(
        self,
        path: str,
        query: str,
        headers: Iterable[tuple[str, str]],
        body: bytes,
        *,
        seconds: float,
        unsigned: Iterable[tuple[str, str]] = (),
    ) -> Response:
        """Post a body once, and return the response. See `Signer.post` and `Connections.call`."""
        request = self.signer.post(path, query, headers, body, self.credentials(), self.now(), unsigned)
        return self.connections.call(request, seconds)

    def _taken(self, cost: int) -> bool:
        """Take the cost of a retry from the quota that all requests share. Returns False if too many requests fail."""
        with self._lock:
            if cost > self._quota:
                return False
            self._quota -= cost
            return True

    def _give_back(self, amount: int) -> None:
        if self._quota < _QUOTA:
            with self._lock:
                self._quota = min(self._quota + amount, _QUOTA)


def _document(answer: Response) -> dict[str, Any]:
    """Return the document of a successful response. Raises ServiceError, UnusualError, or OSError if the response was
    damaged.
    """
    checksum = answer.headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(crc32(answer.body)):
        raise ConnectionError("the checksum of the response does not match")
    try:
        document = orjson.loads(answer.body)
    except ValueError:
        document = None
    if answer.status == 200 and isinstance(document, dict):
        return document
    said = document if isinstance(document, dict) else {}
    code = _code(answer.headers, said)
    if answer.status >= 500:
        code = code or str(answer.status)
    elif code is None or code in _SIGNING or answer.status < 400:
        raise UnusualError(f"status {answer.status}, {code or 'no code'}", refused=answer.status >= 400)
    raise ServiceError(code, str(said.get("message", said.get("Message", ""))), status=answer.status, answer=said)


def _code(headers: Mapping[str, str], said: Mapping[str, Any]) -> str | None:
    """Return the code of an error, such as `QueueDoesNotExist` for `com.amazonaws.sqs#QueueDoesNotExist`. If SQS sends
    an older code, that is returned.
    """
    older, _, fault = headers.get("x-amzn-query-error", "").partition(";")
    if older and fault:
        return older
    name = said.get("__type")
    return name.rpartition("#")[2].partition(":")[0] or None if isinstance(name, str) else None
