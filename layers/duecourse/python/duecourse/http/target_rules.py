"""What a target may be when a job is created. Names are resolved and checked again at each call, by the adapter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

from duecourse.domain.addresses import not_public

_FUNCTION = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_ALLOWED = re.compile(r"[!-~]+")  # printable ASCII without blanks
_FORBIDDEN = re.compile(r"[\\^`{|}\"<>]")


def url_problem(url: str, *, private_allowed: bool) -> str | None:
    """What is wrong with the URL of an HTTP target, and what to write instead; None when nothing is."""
    if _ALLOWED.fullmatch(url) is None:
        return "may hold printable ASCII without blanks only; percent-encode the path and write the host as punycode"
    if found := _FORBIDDEN.search(url):
        return f"holds {found[0]}, which must be percent-encoded"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has no valid host or port; write https://host/path or https://host:8443/path"
    schemes = ("https", "http") if private_allowed else ("https",)
    if parts.scheme not in schemes:
        return f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}"
    if "@" in parts.netloc:
        return "must not hold credentials; send them in a header"
    if "#" in url:
        return "must not have a fragment (#...); leave it out"
    if port == 0 or parts.netloc.endswith(":"):
        return "has no valid port; write one from 1 to 65535 or leave it out"
    return _host_problem(parts, private_allowed=private_allowed)


def function_problem(name: str, patterns: Sequence[str]) -> str | None:
    """What is wrong with the name of a Lambda target; None when nothing is."""
    if _FUNCTION.fullmatch(name) is None:
        return "must be the name of a function in this account and region: 1 to 64 letters, digits, - and _, no ARN"
    if not patterns:
        return "is not allowed: this stage calls no Lambda functions (its setting lambda_targets is empty)"
    if not any(fnmatchcase(name, pattern) for pattern in patterns):
        return f"is not allowed on this stage; it calls functions named {', '.join(patterns)}"
    return None


def _host_problem(parts: SplitResult, *, private_allowed: bool) -> str | None:
    host = parts.hostname or ""
    address = _address(parts.netloc, host)
    if address is None:
        labels = host.removesuffix(".").split(".")
        if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            return "has no valid host name"
        if _reads_as_number(labels[-1]):
            return "has a host that is neither a name nor an IP address; write four numbers, such as 203.0.113.7"
        private = "a name of this machine" if labels[-1].lower() == "localhost" else None
    else:
        private = not_public(address)
    if private is not None and not private_allowed:
        return f"must name a public host; {host} is not ({private})"
    return None


def _address(netloc: str, host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return address if isinstance(address, IPv4Address) or "[" in netloc else None


def _reads_as_number(label: str) -> bool:
    """Whether resolvers would take a host with this last label for an IPv4 address (2130706433, 0x7f.1, 127.1)."""
    return label.isdigit() or re.fullmatch(r"0[xX][0-9A-Fa-f]*", label) is not None
