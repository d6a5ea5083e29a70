"""The connection to an HTTP target: its endpoint, its addresses, one deadline for the whole call, the connections that
stay open between calls, and the exchange of a request and its response.

Calls use a plain socket rather than a general client. It connects to the address that was checked, certificates are
checked against the host name, and one deadline bounds everything from the name lookup to the last byte. No proxy of the
environment is used and no redirect is followed. This module reads plain responses, and `http.client` of the standard
library, which takes five times the CPU, all others. Operations without a timeout run in a thread. Connectors use this
module too, so it imports little.

A host name is resolved once, and its addresses are checked and then used. A second lookup for the connection could
return a private address after a public one was checked (DNS rebinding).
"""

from __future__ import annotations

import io
import re
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from ipaddress import IPv6Address, ip_address
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import quote, urlsplit

from duecourse.adapters.framing import UnreadableError, check_framing
from duecourse.adapters.system import system_trust
from duecourse.domain.targets.http import not_public
from duecourse.limits import LENGTH_DIGITS

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from duecourse.ports import Clock

MAX_BYTES = 8 * 1024 * 1024
"""The maximum number of bytes read from a response. The headers that `http.client` accepts (100 lines of 64 KB) and the
first 256 KB of a body, even in chunks of one byte, need less. Endless chunks and trailers exceed it.
"""

_PLAIN = re.compile(
    rb"HTTP/1\.1 ([2-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n){0,99})\r\n"
)
"""The head of a plain response. `http.client` accepts as many headers."""

_USED = frozenset(
    {"connection", "content-length", "content-type", "retry-after", "transfer-encoding", "x-duecourse-retry"}
)
_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

T = TypeVar("T")


class PlainResponse(NamedTuple):
    """A response with a length. `headers` has the used ones, with names in lower case. `complete`: the whole body was
    read, and the server keeps the connection.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool


def _headers_used(lines: str) -> dict[str, str] | None:
    """Return the used headers, or None if one of them is repeated."""
    used: dict[str, str] = {}
    for line in lines.split("\r\n"):
        name, _, value = line.partition(":")
        if (known := name.lower()) in _USED:
            if known in used:
                return None
            used[known] = value.strip(" \t")
    return used


class Deadline:
    """A time by which a call must be complete."""

    def __init__(self, seconds: float) -> None:
        self._at = monotonic() + seconds

    def left(self) -> float:
        """Return the remaining seconds, which are more than 0. Raises TimeoutError after the deadline."""
        seconds = self._at - monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


class DeadlineSocket:
    """The part of a socket that a call needs: it sends the request, and `http.client` reads the response from it.

    The timeout of a socket restarts with each read, so a peer that sends single bytes slowly could block its caller
    indefinitely. Here each read and each write has only the remaining time. The size of a response is limited as well.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._incoming = _Incoming(sock, deadline)
        self._reader = _Reader(self._incoming)

    @property
    def received(self) -> int:
        """The number of bytes received."""
        return self._incoming.count

    @property
    def at_end(self) -> bool:
        """Whether the response was closed and nothing was received after it. TLS keeps the rest of its last record."""
        return self._reader.at_end and not (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending())

    def sendall(self, data: bytes) -> None:
        """Send all data before the deadline."""
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._deadline.left())
            rest = rest[self._sock.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - http.client only reads
        """Return the file that reads the received data."""
        return self._reader

    def plain_response(self, method: str, most: int) -> PlainResponse | None:
        """Return the response if its head is plain and was received at once, with at most one byte more than `most` of
        its body. Otherwise return None, and nothing was read. Raises OSError and IncompleteRead.
        """
        head = None if method == "HEAD" else _PLAIN.match(self._reader.peek())
        headers = None if head is None else _headers_used(head[2].decode("latin-1"))
        if head is None or headers is None or "transfer-encoding" in headers:
            return None
        status, size = int(head[1]), headers.get("content-length", "")
        if status in _WITHOUT_BODY or not size.isdecimal() or len(size) > LENGTH_DIGITS:
            return None
        length = int(size)
        self._reader.read(head.end())
        body = self._reader.read(min(length, most + 1))
        if len(body) <= most and len(body) < length:
            raise IncompleteRead(body, length - len(body))
        self._reader.close()
        complete = len(body) == length and "close" not in headers.get("connection", "").lower()
        return PlainResponse(status, headers, body, complete)


class _Incoming(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self.count = 0
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        if self.ended:
            return None  # nothing is available without waiting
        if self.count > MAX_BYTES:
            raise ConnectionError(f"the response is larger than {MAX_BYTES // 2**20} MB")
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self.count += count
        return count


class _Reader(io.BufferedReader):
    """Records whether received data was left unread when the reader was closed."""

    raw: _Incoming

    def __init__(self, incoming: _Incoming) -> None:
        super().__init__(incoming)
        self.at_end = False

    def close(self) -> None:
        if not self.closed:
            self.raw.ended = True
            self.at_end = not self.peek(1)
        super().close()


def with_timeout(deadline: Deadline, ask: Callable[[], T], name: str) -> T:
    """Return the result of `ask`, or raise its exception. Raises TimeoutError if the deadline passes first.

    `ask` runs in a separate thread named `name`. Only these threads may outlive their call: `ask` must hold no
    resources, change nothing important, and end automatically.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as problem:  # noqa: BLE001 - raised again in the waiting thread
            answer.set_exception(problem)

    left = deadline.left()
    Thread(target=run, name=name, daemon=True).start()
    return answer.result(timeout=left)


_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9._-]+")
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")

Resolver = Callable[[str, int], list[str]]
"""Returns the addresses of a host and port, best first. Raises OSError if there are none."""


Refusal = Callable[[str], str | None]
"""Returns the reason why jobs may not call an address, or None if they may."""


class EndpointError(ValueError):
    """A URL that cannot be called. The message does not contain the URL, which may have secrets."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parts of a URL. `host` is a name in ASCII (lower case) or a bare IP address. `resource` is the target of the
    request line.
    """

    scheme: str
    host: str
    port: int
    resource: str

    @property
    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The URL for messages, without path and query, which may be secrets."""
        return f"{self.scheme}://{self.authority}"


@lru_cache(maxsize=256)
def endpoint_of(url: str) -> Endpoint:
    """Return the endpoint of a URL. Raises EndpointError. Cached, since many runs call the same URLs."""
    if _UNSAFE.search(url):
        raise EndpointError("the URL contains spaces or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EndpointError("the URL is not valid (brackets or port)") from None
    if parts.scheme not in _PORTS:
        raise EndpointError("the URL must begin with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise EndpointError("the URL must not contain a user name or password; use a header")
    if port == 0:
        raise EndpointError("the port of the URL must be from 1 to 65535")
    resource = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    if parts.query:
        resource += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=-._~")
    return Endpoint(
        parts.scheme, _host(parts.hostname or "", literal="[" in parts.netloc), port or _PORTS[parts.scheme], resource
    )


def _host(host: str, *, literal: bool) -> str:
    if literal:
        try:
            return str(IPv6Address(host))
        except ValueError:
            raise EndpointError("the host in brackets is not a valid IPv6 address") from None
    try:
        ascii_host = host.encode("idna").decode().lower()
    except UnicodeError:
        ascii_host = ""
    if not _HOST.fullmatch(ascii_host):
        raise EndpointError("the URL has no valid host")
    return ascii_host


class AddressRefusedError(Exception):
    """The host has an address that jobs may not call."""


def system_resolver(host: str, port: int) -> list[str]:
    """Return the addresses that the operating system resolves."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def addresses_of(host: str, port: int, resolve: Resolver, deadline: Deadline, *, refusal: Refusal) -> list[str]:
    """Return the addresses to connect to. Raises AddressRefusedError if `refusal` returns a reason for any address of
    the host, OSError if the host has no address, or TimeoutError.
    """
    ask = partial(_ask, host, port, resolve)
    addresses = [host] if _is_address(host) else with_timeout(deadline, ask, "resolve")  # getaddrinfo has no timeout
    if not addresses:
        raise OSError("the host name has no IP address")
    for address in addresses:
        if reason := refusal(address):
            raise AddressRefusedError(reason)
    return addresses


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False  # the resolver interprets forms like 127.1 and 0x7f000001, and its result is checked
    return True


def _ask(host: str, port: int, resolve: Resolver) -> list[str]:
    try:
        return resolve(host, port)
    except UnicodeError:
        raise OSError("the host name cannot be resolved") from None


MAX_IDLE_SECONDS = 5
"""How long a connection is kept after a response, in seconds. Servers and load balancers close idle connections, and
connections of a frozen function end without notice.
"""

MAX_AGE_SECONDS = 60
"""The age from which a connection is not used again, in seconds. The host is resolved, and its addresses are checked,
at least this often.
"""

MAX_IDLE = 20
"""The maximum number of idle connections of a process."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An open connection to a host and port. `opened` and `used` are instants (UTC seconds)."""

    place: tuple[str, int]
    sock: socket.socket
    opened: float
    used: float

    def usable(self, now: float) -> bool:
        """Return whether the connection is young, was idle for a short time, and has nothing to read. If there is
        something to read, the connection has ended, or the server sent more than its response.
        """
        if not (0 <= now - self.used <= MAX_IDLE_SECONDS and now - self.opened <= MAX_AGE_SECONDS):
            return False
        ready = select.poll()
        ready.register(self.sock, select.POLLIN)
        return not ready.poll(0)


@dataclass(slots=True)
class KeptConnections:
    """The idle connections of a process. Safe to share between threads: one thread at a time uses a connection."""

    _idle: list[Kept] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def take(self, place: tuple[str, int], now: float) -> Kept | None:
        """Return a connection to a host and port that can be used at `now` (UTC seconds), the last used one first.
        Connections to it that cannot be used are closed.
        """
        while True:
            with self._lock:
                found = next((kept for kept in reversed(self._idle) if kept.place == place), None)
                if found is None:
                    return None
                self._idle.remove(found)
            if found.usable(now):
                return found
            found.sock.close()

    def keep(self, kept: Kept) -> None:
        """Keep a connection after a complete response. If there are too many, the connection that was idle the longest
        is closed.
        """
        with self._lock:
            self._idle.append(kept)
            surplus = [self._idle.pop(0)] if len(self._idle) > MAX_IDLE else []
        for one in surplus:
            one.sock.close()

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for kept in idle:
            kept.sock.close()

    __del__ = close


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request. `resolved` are the secrets of the job and the callback token: they must be removed from stored
    responses. `secrets` are these and the other values that the job puts into headers, path and query: they
    must not appear in messages.
    """

    endpoint: Endpoint
    method: str
    reusable: bool
    """Whether the connection may be one that was kept, and may be kept. If it fails before the first byte of the
    response, the request is sent again, which at_most_once forbids.
    """
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes | None = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    resolved: frozenset[str] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the request in error messages."""
        return f"{self.method} {self.endpoint.origin}"

    def written(self) -> bytes:
        """Return the request as bytes. No part can contain a line break: this was checked when the
        request was created.
        """
        lines = [f"{self.method} {self.endpoint.resource} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join((*lines, "", "")).encode("latin-1") + (self.body or b"")


_INTERIM_ANSWERS = 100
"""The maximum number of interim responses, which no regular server exceeds: 102 (Processing) is sent about every 20
seconds.
"""


class Response(HTTPResponse):
    """The response class of `http.client` for a peer that may send anything."""

    def __init__(self, peer: DeadlineSocket, method: str) -> None:
        super().__init__(cast("Any", peer), method=method)

    def begin(self) -> None:
        """Read status and headers of the final response. Raises OSError and HTTPException.

        Interim responses (103 Early Hints) are skipped: "a client MUST be able to parse one or more 1xx responses" (RFC
        9110, 15.2), and `http.client` skips only 100. 101 is final: the data after it is no longer HTTP.
        """
        with _errors_named():
            for _ in range(_INTERIM_ANSWERS + 1):
                super().begin()
                if self.status >= 200 or self.status == HTTPStatus.SWITCHING_PROTOCOLS:
                    check_framing(self)
                    return
                self.headers = cast("Any", None)  # `http.client` reads a response only if headers are None
        raise UnreadableError

    def body(self, most: int) -> bytes:
        """Return the body, or `most` and one more byte of a larger one. Raises OSError and HTTPException."""
        with _errors_named():
            body = self.read(most + 1)
        if len(body) <= most and self.length:
            raise IncompleteRead(body, self.length)
        return body


@contextmanager
def _errors_named() -> Iterator[None]:
    """Raise UnreadableError for unexpected exceptions of `http.client`: a negative chunk size is a ValueError, and
    invalid parameters of Content-Type are a TypeError.
    """
    try:
        yield
    except (OSError, HTTPException):
        raise
    except Exception as problem:
        raise UnreadableError from problem


_CONNECT_SECONDS = 10.0
_ADDRESSES_TRIED = 4


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The parts of a response that are used. The last two are headers (Retry-After, X-Duecourse-Retry)."""

    status: int
    body: bytes
    content_type: str
    retry_after: str | None
    retry: str


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Sends requests and reads responses. Safe to share between threads."""

    clock: Clock
    private: bool = field(kw_only=True)
    """Whether addresses that are not public are allowed (stage `local`)."""
    most_bytes: int = field(kw_only=True)
    """The maximum size of a response's body in bytes. Of a larger body, one more byte is read."""
    resolve: Resolver = field(default=system_resolver, kw_only=True)
    trust: Callable[[], ssl.SSLContext] = field(default=system_trust, kw_only=True)
    kept: KeptConnections = field(default_factory=KeptConnections, kw_only=True)
    """The open connections of the process."""

    def address_refusal(self, address: str) -> str | None:
        """Return the reason why the address of a host is not called, or None if it is."""
        return None if self.private else not_public(address)

    def exchange(self, request: HttpRequest, deadline: Deadline) -> HttpAnswer:
        """Send a request and return the response. Raises AddressRefusedError, OSError (including TimeoutError) and
        HTTPException.
        """
        endpoint = request.endpoint
        place = (endpoint.host, endpoint.port)
        kept = self.kept.take(place, self.clock.now()) if request.reusable else None
        if kept is not None:
            peer = DeadlineSocket(kept.sock, deadline)
            try:
                return self._exchange(request, kept, peer)
            except TimeoutError:
                raise
            except (OSError, HTTPException):
                if peer.received:
                    raise
                self.kept.close()  # the other connections may have ended too
        addresses = addresses_of(endpoint.host, endpoint.port, self.resolve, deadline, refusal=self.address_refusal)
        sock = self._secure(_connect(addresses, endpoint, deadline), endpoint, deadline)
        now = self.clock.now()
        return self._exchange(request, Kept(place, sock, now, now), DeadlineSocket(sock, deadline))

    def _exchange(self, request: HttpRequest, connection: Kept, peer: DeadlineSocket) -> HttpAnswer:
        """Send a request over a connection, which is kept or closed, and return the response."""
        reusable = False
        try:
            peer.sendall(request.written())
            plain = peer.plain_response(request.method, self.most_bytes)
            answer, complete = self._read(request, peer) if plain is None else _answer_of(plain)
            reusable = request.reusable and complete and peer.at_end
            return answer
        finally:
            if reusable:
                self.kept.keep(replace(connection, used=self.clock.now()))
            else:
                connection.sock.close()

    def _read(self, request: HttpRequest, peer: DeadlineSocket) -> tuple[HttpAnswer, bool]:
        """Read a response that is not plain, and return it and whether it is complete."""
        with Response(peer, request.method) as response:
            response.begin()
            body = response.body(self.most_bytes)
            complete = response.isclosed() and not response.will_close
            content_type = response.getheader("Content-Type", "")
            wishes = response.getheader("Retry-After"), response.getheader("X-Duecourse-Retry", "")
        return HttpAnswer(response.status, body, content_type, *wishes), complete

    def _secure(self, sock: socket.socket, endpoint: Endpoint, deadline: Deadline) -> socket.socket:
        """Return the connection, inside TLS for https. SNI and the certificate use the host name, not the address."""
        if endpoint.scheme == "http":
            return sock
        try:
            sock.settimeout(deadline.left())
            return self.trust().wrap_socket(sock, server_hostname=endpoint.host)
        except BaseException:
            sock.close()
            raise


def _answer_of(plain: PlainResponse) -> tuple[HttpAnswer, bool]:
    headers = plain.headers
    wishes = headers.get("retry-after"), headers.get("x-duecourse-retry", "")
    return HttpAnswer(plain.status, plain.body, headers.get("content-type", ""), *wishes), plain.complete


def _connect(addresses: list[str], endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    """Return a connection to the first address that accepts one."""
    problem: OSError = OSError("the host name has no IP address")
    for address in addresses[:_ADDRESSES_TRIED]:
        left = deadline.left()
        try:
            sock = socket.create_connection((address, endpoint.port), timeout=min(left, _CONNECT_SECONDS))
        except TimeoutError:
            deadline.left()  # raises TimeoutError if the deadline of the call has passed
            problem = ConnectionError(f"no connection within {_CONNECT_SECONDS:g} s")
        except OSError as refused:
            problem = refused
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
    raise problem


def code_of(problem: Exception) -> str:
    """Return the type of a failure to get a response, for the job's retry rules."""
    match problem:
        case AddressRefusedError():
            return "address_refused"
        case TimeoutError():
            return "timeout"
        case ssl.SSLError():
            return "tls"
        case _:
            return "connection"


def plainly(problem: Exception) -> str:
    """Return why there is no response, in words for a tenant."""
    match problem:
        case ssl.SSLCertVerificationError():
            return f"its certificate was not accepted ({problem.verify_message})"
        case ssl.SSLError():
            return f"the TLS connection failed ({problem.reason or type(problem).__name__})"
        case socket.gaierror():
            return "the name of its host could not be resolved"
        case IncompleteRead() | ConnectionResetError() | BrokenPipeError():
            return "the connection ended before the response was complete"
        case HTTPException():
            return f"the response is not valid HTTP ({type(problem).__name__})"
        case OSError() if problem.strerror:
            return problem.strerror.lower()
        case _:
            return str(problem)
