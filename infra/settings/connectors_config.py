"""The connectors of a stage: functions in private networks that send the requests of jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from duecourse.domain.targets.connectors import network_problem
from duecourse.limits import CONNECTOR_NAME, EVERY_TENANT

CONNECTOR_MB = 256
"""The memory of a connector, which has one call at a time. With less, Lambda gives it too little of a processor for
TLS.
"""

CONCURRENCY = 50
"""The maximum number of concurrent calls of a connector, unless it has a `concurrency`. Without a maximum, the slow
hosts of one tenant could take all executions of the account, and so throttle the workers of all.
"""

MAX_CONNECTORS_BYTES = 1_000
"""The maximum size of the connectors in the environment of a function, which has 4 KB for all variables (AWS Lambda
Developer Guide, "Lambda quotas").
"""

MAX_SUBNETS = 16
MAX_SECURITY_GROUPS = 5
"""The most subnets and security groups of a function (AWS Lambda API Reference, "VpcConfig")."""

_LISTS = ("tenants", "hosts", "cidrs")
_OF_NETWORK = {
    "subnets": (re.compile(r"subnet-[0-9a-f]{8,17}"), MAX_SUBNETS, "be ids such as subnet-0123456789abcdef0"),
    "security_groups": (re.compile(r"sg-[0-9a-f]{8,17}"), MAX_SECURITY_GROUPS, "be ids such as sg-0123456789abcdef0"),
}
_TENANT = re.compile(r"[A-Za-z0-9_-]{1,64}|\*")
_HOST = re.compile(r"\*|(?=.{1,253}\Z)(\*\.)?[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")

StageConnectors = Mapping[str, Mapping[str, Any]]


def function_name(stack_name: str, connector: str) -> str:
    """Return the name of a connector's function: at most 64 characters, the limit of Lambda."""
    return f"{stack_name}-via-{connector}"


def connector_settings(stack_name: str, connectors: StageConnectors) -> dict[str, dict[str, Any]]:
    """Return the connectors as functions read them (duecourse.domain.targets.connectors.connectors_of)."""
    return {
        name: {"function": function_name(stack_name, name)} | {each: parts[each] for each in _LISTS}
        for name, parts in connectors.items()
    }


def connector_concurrency(connectors: StageConnectors) -> dict[str, int]:
    """Return the reserved concurrency of the connectors. Those that reserve nothing, or are invalid, are omitted."""
    wishes = {f"connector {name}": parts.get("concurrency", CONCURRENCY) for name, parts in connectors.items()}
    return {name: wish for name, wish in wishes.items() if isinstance(wish, int)}


def connector_problems(
    stack_name: str, connectors: StageConnectors, *, on_this_machine: bool
) -> Iterator[tuple[str, str]]:
    """Yield each invalid part of a connector with its requirement. `on_this_machine`: the emulator has no networks, so
    a connector of the local stage is a function without one, which also calls receivers on this machine.
    """
    own = () if on_this_machine else tuple(_OF_NETWORK)
    optional = () if on_this_machine else ("concurrency",)
    complete = True
    for name, parts in connectors.items():
        if re.fullmatch(CONNECTOR_NAME, name) is None:
            yield name[:40], "must have a name of 1 to 18 lowercase letters and digits that begins with a letter"
        if unknown := sorted(parts.keys() - {*_LISTS, *own, *optional}):
            yield name, f"must have only {', '.join((*own, *_LISTS, *optional))}, not {', '.join(unknown)}"
        wish = parts.get("concurrency")
        if wish is not None and (type(wish) is not int or wish < 1):
            yield f"{name}.concurrency", "must be null or a whole number of at least 1"
        for part in (*own, *_LISTS):
            given = parts.get(part)
            if not isinstance(given, list) or not given or not all(isinstance(each, str) for each in given):
                complete = False
                yield f"{name}.{part}", f"must be a list {_MEANINGS[part]}"
                continue
            for problem in _problems(part, given, loopback=on_this_machine):
                yield f"{name}.{part}", problem
    if complete and len(str(connector_settings(stack_name, connectors)).encode()) > MAX_CONNECTORS_BYTES:
        yield ", ".join(connectors)[:40], f"must not take more than {MAX_CONNECTORS_BYTES} bytes together"


_MEANINGS = {
    "subnets": "of the subnets in which its function runs",
    "security_groups": "of the security groups of its function",
    "tenants": 'of the tenants whose jobs may use it; ["*"] admits all',
    "hosts": 'of the hosts that it may call, such as ["*.corp.example"]; ["*"] allows all in its cidrs',
    "cidrs": 'of the networks that it may call, such as ["10.20.0.0/16"]',
}


def _problems(part: str, given: list[str], *, loopback: bool) -> Iterator[str]:
    """Yield the problem of each invalid entry of a list."""
    if part in _OF_NETWORK:
        form, most, wants = _OF_NETWORK[part]
        yield from (f"must {wants}: {each!r}" for each in given if form.fullmatch(each) is None)
        if len(given) > most:
            yield f"must have at most {most} entries"
        return
    for each in given:
        if part == "tenants" and _TENANT.fullmatch(each) is None:
            yield f"must be tenants, or {EVERY_TENANT} for all: {each!r}"
        elif part == "hosts" and _HOST.fullmatch(each) is None and not _is_address(each):
            yield f"must be lowercase names, names after *., or addresses: {each!r}"
        elif part == "cidrs" and (problem := network_problem(each, loopback=loopback)):
            yield f"{problem}: {each!r}"


def _is_address(text: str) -> bool:
    try:
        return str(ip_address(text)) == text
    except ValueError:
        return False
