"""The connection to an HTTP target: its addresses, and one deadline for everything that a call does.

One deadline applies to the whole call. The socket obeys it, and operations without a timeout run in a thread.

The parts of the URL of an HTTP target, and the addresses to which a call may connect.

A name is resolved once, checked, and then used as it is: a second look-up for the connection could return a private
address after the check of a public one (DNS rebinding).
"""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
import re
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, ip_address
from urllib.parse import quote, urlsplit

from duecourse.domain.targets.http import not_public

MAX_BYTES = 8 * 1024 * 1024
"""How much of a response is read at most. What `http.client` takes as headers (100 lines of 64 KB) and the 256 KB of a
body that are looked at, be it in chunks of one byte, are less; chunks and trailers without an end are more.
"""

T = TypeVar("T")


class Deadline:
    """A moment by which all has to be done."""

    def __init__(self, seconds: float) -> None:
        self._at = monotonic() + seconds

    def left(self) -> float:
        """The seconds that remain, more than 0. Raises TimeoutError when there are none."""
        seconds = self._at - monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


class DeadlineSocket:
    """As much of a socket as a call needs: to send what is asked, and to have `http.client` read the response.

    A socket's own timeout starts again with every read, so a peer that sends a byte now and then holds its caller for
    ever; here each read and each write gets only what is left. Nor can a peer fill the memory.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        """Send all of it before the deadline."""
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._deadline.left())
            rest = rest[self._sock.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - http.client only ever reads
        """A file of what comes in."""
        return io.BufferedReader(_Incoming(self._sock, self._deadline))


class _Incoming(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if self._read > MAX_BYTES:
            raise ConnectionError("the response does not end")
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._read += count
        return count


def with_timeout(deadline: Deadline, ask: Callable[[], T], name: str) -> T:
    """What `ask` returns or raises; TimeoutError when the deadline comes first.

    It runs in a thread of its own, called `name`. These are the only threads that may outlive their call: what they ask
    must hold nothing, change nothing that matters, and end by itself.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as problem:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(problem)

    left = deadline.left()
    Thread(target=run, name=name, daemon=True).start()
    return answer.result(timeout=left)


_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9._-]+")
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")

Resolver = Callable[[str, int], list[str]]
"""The addresses of a host and port, best first; raises OSError where there are none."""


class EndpointError(ValueError):
    """A URL that cannot be called. The message does not repeat it: it may hold secrets."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`host` is a name in ASCII (lower case) or a bare IP address; `resource` is that of the request line."""

    scheme: str
    host: str
    port: int
    resource: str

    @property
    def authority(self) -> str:
        """The value of the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """For messages: neither path nor query, both of which may be secrets."""
        return f"{self.scheme}://{self.authority}"


def endpoint_of(url: str) -> Endpoint:
    """The endpoint that a URL names. Raises EndpointError."""
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
    """What the operating system says."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def addresses_of(host: str, port: int, resolve: Resolver, deadline: Deadline, *, private: bool) -> list[str]:
    """Where to connect. Raises AddressRefusedError when any of a host's addresses is not public, unless `private`
    addresses are allowed; OSError when it has none; TimeoutError.
    """
    ask = partial(_ask, host, port, resolve)
    addresses = [host] if _is_address(host) else with_timeout(deadline, ask, "resolve")  # getaddrinfo knows no timeout
    if not addresses:
        raise OSError("the host has no address")
    if not private:
        for address in addresses:
            if reason := not_public(address):
                raise AddressRefusedError(reason)
    return addresses


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False  # 127.1, 0x7f000001 and the like are left to the resolver; what it makes of them is checked
    return True


def _ask(host: str, port: int, resolve: Resolver) -> list[str]:
    try:
        return resolve(host, port)
    except UnicodeError:
        raise OSError("the name of the host cannot be resolved") from None
