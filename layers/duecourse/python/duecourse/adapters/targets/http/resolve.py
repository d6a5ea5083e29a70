"""From a host's name to the addresses that a call may connect to: asked once, checked, and then used as they are.

Asking again at the connection would let a name be public for the check and private for the call (DNS rebinding).
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address

from duecourse.adapters.targets.aws.with_timeout import with_timeout
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.domain.targets.addresses import not_public

Resolver = Callable[[str, int], list[str]]
"""The addresses of a host and port, best first; raises OSError where there are none."""


class AddressRefusedError(Exception):
    """The host stands at an address that is not for jobs to call."""


def system_resolver(host: str, port: int) -> list[str]:
    """What the operating system says."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def addresses_of(host: str, port: int, resolve: Resolver, deadline: Deadline, *, private: bool) -> list[str]:
    """Where to connect. Raises AddressRefusedError when any of a host's addresses is not public, unless `private`
    addresses are allowed; OSError when it has none; TimeoutError.
    """
    ask = partial(_ask, host, port, resolve)
    addresses = [host] if _is_address(host) else with_timeout(deadline, ask, "resolve")  # getaddrinfo knows no time-out
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
        raise OSError("the host's name cannot be looked up") from None
