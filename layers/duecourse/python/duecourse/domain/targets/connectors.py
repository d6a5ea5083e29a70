"""Connectors: the functions that send requests of jobs from private networks, and what each of them may call.

A stage checks the name and the tenant when a job is saved and at each call. The connector checks the host and the
addresses to which its name resolves.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from duecourse.domain.targets.http import not_public
from duecourse.domain.targets.targets import Connector, Connectors
from duecourse.limits import EVERY_TENANT

_IN_NETWORKS = frozenset({"private network", "carrier-grade NAT"})
"""The kinds of addresses that are not public and that a connector may call. It never calls the others, such as those of
its own machine, link-local addresses and cloud metadata.
"""


def connectors_of(document: Mapping[str, Mapping[str, Any]]) -> Connectors:
    """Return the connectors that a setting describes. Raises KeyError, TypeError and AttributeError."""
    return {
        name: Connector(
            name=name,
            function=each["function"],
            tenants=tuple(each["tenants"]),
            hosts=tuple(each["hosts"]),
            cidrs=tuple(each["cidrs"]),
        )
        for name, each in document.items()
    }


def connector_named(name: str, connectors: Connectors) -> Connector | None:
    """Return a connector by its name; None if the stage does not have it."""
    return connectors.get(name, connectors.get("*"))


def connector_refusal(tenant: str, name: str, connectors: Connectors) -> str | None:
    """Return the reason why the jobs of a tenant may not use a connector, with a remedy. None if they may.

    The reason is the same for a connector that the stage does not have, so that it does not disclose names.
    """
    found = connector_named(name, connectors)
    if found is not None and _admits(found, tenant):
        return None
    known = [each.name for each in connectors.values() if _admits(each, tenant)]
    others = f"use {', '.join(known)}, or " if known else ""
    return (
        f"is not a connector of this tenant; {others}ask the operator to add the tenant to the stage's setting "
        f"connectors.{name[:40]}.tenants"
    )


def _admits(connector: Connector, tenant: str) -> bool:
    return tenant in connector.tenants or EVERY_TENANT in connector.tenants


def host_refusal(host: str, connector: Connector) -> str | None:
    """Return the reason why a connector does not call a host (a name in ASCII and lower case, or a bare IP address),
    with a remedy. None if it does, provided that its addresses are allowed too.
    """
    bare = host.removesuffix(".")
    if any(fnmatchcase(bare, pattern) for pattern in connector.hosts):
        return None
    return (
        f"the connector {connector.name} does not call this host; ask the operator to add it to the stage's setting "
        f"connectors.{connector.name}.hosts"
    )


def address_refusal(address: str, connector: Connector, *, loopback: bool = False) -> str | None:
    """Return the reason why a connector does not call an address, with a remedy. None if it does. `loopback` allows the
    addresses of its own machine, if they are in its networks (stage `local`).

    An IPv4 address inside an IPv6 address (mapped) counts as that IPv4 address.
    """
    found = _plain(address)
    what = not_public(found)
    if what is not None and what not in _IN_NETWORKS and not (loopback and what == "loopback"):
        return f"the host has an address that no connector calls ({what}); use another host"
    if any(found in network for network in map(ip_network, connector.cidrs)):
        return None
    return (
        f"the host has an address outside the networks of the connector {connector.name}; ask the operator to add it "
        f"to the stage's setting connectors.{connector.name}.cidrs"
    )


def network_problem(cidr: str, *, loopback: bool = False) -> str | None:
    """Return the problem with a network of a connector, or None if it is valid."""
    try:
        network = ip_network(cidr)
    except ValueError:
        return "must be a network such as 10.20.0.0/16, without bits after its prefix"
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        return "must be written as an IPv4 network"  # to which _plain changes each address of it
    for address in (network.network_address, network.broadcast_address):
        what = not_public(address)
        if what is not None and what not in _IN_NETWORKS and not (loopback and what == "loopback"):
            return f"must not begin or end with an address that no connector calls ({what})"
    return None


def _plain(address: str) -> IPv4Address | IPv6Address:
    """Return an address without its zone, and an IPv4 address without the IPv6 address around it."""
    found = ip_address(address)
    if isinstance(found, IPv4Address):
        return found
    return found.ipv4_mapped or IPv6Address(int(found))
