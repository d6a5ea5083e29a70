"""Validation of HTTP targets: only public addresses, and only valid headers.

The lists of address ranges are explicit (IANA's special-purpose registries, IPv4 and IPv6), since Python's `ipaddress`
changes its definition of "global" between patch releases. For IPv6 only the assigned global unicast space is public,
with exceptions.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from duecourse.domain.targets.webhook_signature import HEADERS_PREFIX

_METADATA = frozenset({
    IPv4Address("169.254.169.254"),  # instance metadata of AWS and most other clouds
    IPv4Address("169.254.170.2"),  # credentials of ECS tasks
    IPv4Address("169.254.170.23"),  # credentials of EKS pods
    IPv4Address("169.254.169.253"),  # resolver of a VPC
    IPv4Address("169.254.169.123"),  # time service
    IPv6Address("fd00:ec2::254"),
    IPv6Address("fd00:ec2::23"),
    IPv6Address("fd00:ec2::253"),
    IPv6Address("fd00:ec2::123"),
})  # fmt: skip

_NOT_PUBLIC_V4 = tuple((IPv4Network(network), what) for network, what in (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private network"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private network"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private network"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
))  # fmt: skip

_GLOBAL_V6 = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple((IPv6Network(network), what) for network, what in (
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("64:ff9b:1::/48", "local NAT64"),  # it has an IPv4 address at a place that its network chooses
    ("100::/64", "discard"),
    ("2001::/32", "tunnel"),  # Teredo: it contains the IPv4 address of the client, behind its NAT
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "tunnel"),  # 6to4
    ("3fff::/20", "documentation"),
    ("fc00::/7", "private network"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "private network"),
    ("ff00::/8", "multicast"),
))  # fmt: skip

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")


def not_public(address: str | IPv4Address | IPv6Address) -> str | None:
    """Return the reason why an address is not public, in two or three words. None if it is public.

    An IPv4 address inside an IPv6 address is checked if the network would deliver packets to it (mapped, NAT64).
    Tunnels (6to4, Teredo) are always rejected. Raises ValueError for text that is not an address.
    """
    found = ip_address(address) if isinstance(address, str) else address
    if isinstance(found, IPv6Address):
        if found in _MAPPED or found in _NAT64:
            return not_public(IPv4Address(int(found) & 0xFFFF_FFFF))
        return _refusal_v6(IPv6Address(int(found)))  # without its zone (`%eth0`), which would break comparisons
    if found in _METADATA:
        return "cloud metadata"
    return next((what for network, what in _NOT_PUBLIC_V4 if found in network), None)


def _refusal_v6(address: IPv6Address) -> str | None:
    if address in _METADATA:
        return "cloud metadata"
    known = next((what for network, what in _NOT_PUBLIC_V6 if address in network), None)
    if known is None and address not in _GLOBAL_V6:
        return "reserved"
    return known


_RESERVED = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "idempotency-key", "keep-alive",
    "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
_RESERVED_PREFIX = "x-duecourse-"

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def is_reserved_header(name: str, *, signed: bool = False) -> bool:
    """Return whether a job may not set this header: headers of the connection, headers that identify the run, and the
    signature headers of a signed call.
    """
    lower = name.lower()
    return lower in _RESERVED or lower.startswith(_RESERVED_PREFIX) or (signed and lower.startswith(HEADERS_PREFIX))


def header_problem(name: str, value: str) -> str | None:
    """Return the reason why a header cannot be sent, as a sentence without its value. None if it can be sent."""
    if _NAME.fullmatch(name) is None:
        return f"header name {name[:40]!r}: only letters, digits and !#$%&'*+.^_`|~- are allowed"
    if _VALUE.fullmatch(value) is None:
        return f"header {name[:40]}: line breaks, control characters and characters outside Latin-1 are not allowed"
    if value != value.strip(" \t"):  # HTTP/2 rejects such values (RFC 9113, 8.2.1); HTTP/1.1 removes the blanks
        return f"header {name[:40]}: its value must not begin or end with blanks; remove them"
    return None
