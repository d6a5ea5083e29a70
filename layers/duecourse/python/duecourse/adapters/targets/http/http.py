"""HTTP targets.

A socket of our own, rather than a client with its pool: it is connected to the very address that was checked,
certificates are checked against the host's name, one deadline bounds everything from the name look-up to the last byte,
no proxy of the environment and no redirect leads elsewhere. The standard library's `http.client` reads the answer.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException, IncompleteRead, responses
from importlib.resources import files
from typing import Self

from duecourse.adapters.targets.answer import excerpt, kept, retry_after_seconds
from duecourse.adapters.targets.callers import Means
from duecourse.adapters.targets.http.deadline import Deadline, DeadlineSocket
from duecourse.adapters.targets.http.endpoint import (
    AddressRefusedError,
    Endpoint,
    Resolver,
    addresses_of,
    system_resolver,
)
from duecourse.adapters.targets.http.redaction import Redaction
from duecourse.adapters.targets.http.request import HttpRequest, RequestError, request_of
from duecourse.adapters.targets.http.response import Response
from duecourse.domain.targets.targets import Failed, HttpTarget, Outcome, Returned
from duecourse.ports import Call, Clock, Secrets

_CONNECT_SECONDS = 10.0
_ADDRESSES_TRIED = 4
_RETRYABLE_STATUSES = frozenset({408, 425, 429})


@cache
def system_trust() -> ssl.SSLContext:
    """The certificate authorities of the operating system, or botocore's copy where Python finds none."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and ssl.get_default_verify_paths().capath is None:
        context.load_verify_locations(cadata=files("botocore").joinpath("cacert.pem").read_text())
    return context


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What is looked at of an answer: the last two are headers (Retry-After, X-Duecourse-Retry)."""

    status: int
    body: bytes
    content_type: str
    retry_after: str | None
    retry: str


@dataclass(frozen=True, slots=True)
class HttpCaller:
    """Calls HTTP endpoints. Safe to share between threads."""

    clock: Clock
    private: bool = field(kw_only=True)
    """Whether addresses that are not public are allowed (stage `local`)."""
    secrets: Secrets = field(kw_only=True)
    """What headers may name."""
    resolve: Resolver = field(default=system_resolver, kw_only=True)
    trust: Callable[[], ssl.SSLContext] = field(default=system_trust, kw_only=True)

    @classmethod
    def made_of(cls, means: Means, client_for: object) -> Self:
        """The caller of a process; it has no use for a client."""
        del client_for
        return cls(means.clock, private=means.private, secrets=means.secrets)

    def call(self, call: Call, target: HttpTarget) -> Outcome:
        """What the target's `expect` names succeeds, 2xx unless it says otherwise; redirects are never followed.

        Retryable: 408, 425, 429, 5xx, everything that went wrong on the way, time-outs, secrets that could not be
        fetched. An answer with the header `X-Duecourse-Retry: never` forbids further attempts.
        """
        deadline = Deadline(call.timeout_seconds)
        try:
            request = request_of(call, target, self.secrets, deadline, now=self.clock.now())
        except RequestError as problem:
            return Failed(str(problem), problem.retryable, code=problem.code)
        try:
            answer = self.exchange(request, deadline)
        except AddressRefusedError as refused:
            text = (
                f"{request.name}: its host stands at an address that is not public ({refused}), which jobs may not call"
            )
            return Failed(text, retryable=False, code="address_refused")
        except TimeoutError:
            text = f"{request.name} gave no full answer within {max(call.timeout_seconds, 0):g} s"
            return Failed(text, code="timeout")
        except (OSError, HTTPException) as problem:
            code = "tls" if isinstance(problem, ssl.SSLError) else "connection"
            return Failed(f"{request.name}: {_plainly(problem)}", code=code)
        return self._judge(request, answer, target.expect)

    def exchange(self, request: HttpRequest, deadline: Deadline) -> HttpAnswer:
        """The answer to a request. Raises AddressRefusedError, OSError (TimeoutError too) and HTTPException."""
        endpoint = request.endpoint
        addresses = addresses_of(endpoint.host, endpoint.port, self.resolve, deadline, private=self.private)
        with _connect(addresses, endpoint, deadline) as plain, self._secure(plain, endpoint, deadline) as sock:
            peer = DeadlineSocket(sock, deadline)
            peer.sendall(request.written())
            with Response(peer, request.method) as response:
                response.begin()
                body = response.body()
                content_type = response.getheader("Content-Type", "")
                wishes = response.getheader("Retry-After"), response.getheader("X-Duecourse-Retry", "")
                return HttpAnswer(response.status, body, content_type, *wishes)

    def _secure(self, sock: socket.socket, endpoint: Endpoint, deadline: Deadline) -> socket.socket:
        """The same connection, inside TLS for https: name indication and certificate are the host's, not the IP's."""
        if endpoint.scheme == "http":
            return sock
        sock.settimeout(deadline.left())
        return self.trust().wrap_socket(sock, server_hostname=endpoint.host)

    def _judge(self, request: HttpRequest, answer: HttpAnswer, expect: tuple[str, ...]) -> Outcome:
        status = answer.status
        if _is_expected(status, expect):
            json = "json" in answer.content_type.lower()
            return Returned(kept(status, answer.body, json=json, redaction=Redaction(request.resolved)))
        error = f"{request.name} answered {status} {responses.get(status, '')}".rstrip()
        if 200 <= status < 300:
            error = f"{error}, and the job expects {', '.join(expect)}"
        if 300 <= status < 400:
            error = f"{error}: redirects are not followed, give the job the final URL"
        elif said := excerpt(answer.body, Redaction(request.secrets)):
            error = f"{error}: {said}"
        return Failed(
            error,
            retryable=status >= 500 or status in _RETRYABLE_STATUSES,
            retry_after=retry_after_seconds(answer.retry_after, self.clock.now()),
            code=f"http.{status}",
            forbidden=answer.retry.strip().lower() == "never",
        )


def _is_expected(status: int, expect: Iterable[str]) -> bool:
    """Whether a status is among these words: `404` is itself, `2xx` a hundred of them."""
    return any(word in (str(status), f"{status // 100}xx") for word in expect)


def _connect(addresses: list[str], endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    """A connection to the first address that takes one."""
    problem: OSError = OSError("the host has no address")
    for address in addresses[:_ADDRESSES_TRIED]:
        left = deadline.left()
        try:
            sock = socket.create_connection((address, endpoint.port), timeout=min(left, _CONNECT_SECONDS))
        except TimeoutError:
            deadline.left()  # raises where it was the call's own time that ran out
            problem = ConnectionError(f"no connection within {_CONNECT_SECONDS:g} s")
        except OSError as refused:
            problem = refused
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
    raise problem


def _plainly(problem: Exception) -> str:
    match problem:
        case ssl.SSLCertVerificationError():
            return f"its certificate was not accepted ({problem.verify_message})"
        case ssl.SSLError():
            return f"no TLS connection ({problem.reason or type(problem).__name__})"
        case socket.gaierror():
            return "its host's name could not be resolved"
        case IncompleteRead() | ConnectionResetError() | BrokenPipeError():
            return "the connection broke before the answer was complete"
        case HTTPException():
            return f"the answer is not valid HTTP ({type(problem).__name__})"
        case OSError() if problem.strerror:
            return problem.strerror.lower()
        case _:
            return str(problem)
