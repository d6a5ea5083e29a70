"""What a target may be when a job is created. Names are resolved and checked again at each call, by the adapter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

from duecourse.domain.targets.addresses import not_public
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS, AllowedTargets, name_refusal
from duecourse.domain.targets.http_headers import header_problem, is_reserved_header
from duecourse.ports import Tasks

MAX_HEADER_VALUE = 4096

_TASK = re.compile(r"[A-Za-z0-9_-]{1,64}")
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


def name_problem(kind: str, name: str, allowed: AllowedTargets) -> str | None:
    """What is wrong with the name of something that a target calls, and what to do; None when nothing is. `kind`: a
    field of AllowedTargets.
    """
    if re.fullmatch(ALLOW_LISTS[kind].form, name) is None:
        return f"must be {ALLOW_LISTS[kind].wants}"
    return name_refusal(kind, name, allowed)


def task_problem(name: str, tasks: Tasks) -> str | None:
    """What is wrong with the name of a registered task; None when nothing is."""
    if _TASK.fullmatch(name) is None:
        return "must be the name of a registered task: 1 to 64 letters, digits, - and _"
    if tasks.get(name) is None:
        return (
            f"names no task of this stage: {name} is not registered; mend the name, "
            "have the operator add it to the stage's setting tasks, or write the target out"
        )
    return None


def header_problems(headers: Mapping[str, str]) -> list[str]:
    """What keeps these headers from being sent, one sentence each."""
    problems: list[str] = []
    seen: set[str] = set()
    for name, value in headers.items():
        if problem := header_problem(name, value):
            problems.append(problem)
        elif is_reserved_header(name):
            problems.append(f"header {name[:40]} is set by Duecourse itself; leave it out")
        elif len(value) > MAX_HEADER_VALUE:
            problems.append(f"header {name[:40]} has {len(value)} characters; at most {MAX_HEADER_VALUE} are allowed")
        elif name.lower() in seen:
            problems.append(f"header {name[:40]} is given twice; capitals do not matter in names")
        seen.add(name.lower())
    return problems


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
