"""Which tenants may use a connector, and what it calls."""

from dataclasses import replace

import pytest

from duecourse.domain.targets.connectors import (
    address_refusal,
    connector_refusal,
    connectors_of,
    host_refusal,
    network_problem,
)
from duecourse.domain.targets.kinds import place_of, stored_target, target_of
from duecourse.domain.targets.targets import Connector, HttpTarget

OFFICE = Connector(
    name="office",
    function="Duecourse-prod-via-office",
    tenants=("erp",),
    hosts=("*.corp.example", "10.1.2.3"),
    cidrs=("10.0.0.0/8", "fd00::/8"),
)
SHARED = replace(OFFICE, name="shared", tenants=("*",))
BOTH = {"office": OFFICE, "shared": SHARED}
UNLIMITED = replace(OFFICE, hosts=("*",), cidrs=("0.0.0.0/0", "::/0"))


def test_connectors_are_read_from_the_setting_of_the_functions() -> None:
    parts = {"function": "f", "tenants": ["erp"], "hosts": ["*"], "cidrs": ["10.0.0.0/8"], "later": 1}
    connector = Connector(name="office", function="f", tenants=("erp",), hosts=("*",), cidrs=("10.0.0.0/8",))
    assert connectors_of({"office": parts}) == {"office": connector}


def test_connectors_admit_their_tenants_and_with_an_asterisk_all() -> None:
    assert connector_refusal("erp", "office", BOTH) is None
    assert connector_refusal("erp", "shared", BOTH) is None
    assert connector_refusal("crm", "shared", BOTH) is None


def test_connectors_of_others_look_the_same_to_a_tenant_as_unknown_ones() -> None:
    theirs, unknown = (connector_refusal("crm", name, BOTH) for name in ("office", "plant"))
    assert theirs is not None
    assert unknown is not None
    assert theirs.replace("office", "plant") == unknown
    assert "use shared, or ask the operator" in unknown
    assert "connectors.plant.tenants" in unknown


def test_connectors_refusal_without_any_connector_names_only_the_setting() -> None:
    assert connector_refusal("erp", "office", {}) == (
        "is not a connector of this tenant; ask the operator to add the tenant to the stage's setting "
        "connectors.office.tenants"
    )


@pytest.mark.parametrize("host", ["erp.corp.example", "a.b.corp.example", "erp.corp.example.", "10.1.2.3"])
def test_connectors_call_hosts_that_match_a_pattern(host: str) -> None:
    assert host_refusal(host, OFFICE) is None


@pytest.mark.parametrize(
    "host", ["corp.example", "erp.corp.example.evil.test", "evilcorp.example", "10.1.2.4", "localhost", "fd00::1", ""]
)
def test_connectors_do_not_call_other_hosts(host: str) -> None:
    problem = host_refusal(host, OFFICE)
    assert problem is not None
    assert "ask the operator to add it to the stage's setting connectors.office.hosts" in problem


@pytest.mark.parametrize("address", ["10.0.0.7", "::ffff:10.0.0.7", "fd12::1", "fd12::1%eth0"])
def test_connectors_call_addresses_in_their_networks(address: str) -> None:
    assert address_refusal(address, OFFICE) is None


@pytest.mark.parametrize("address", ["192.168.0.1", "93.184.216.34", "::ffff:192.168.0.1", "2606:4700::1111"])
def test_connectors_do_not_call_addresses_outside_their_networks_and_do_not_tell_them(address: str) -> None:
    problem = address_refusal(address, OFFICE)
    assert problem is not None
    assert "outside the networks of the connector office" in problem
    assert address not in problem


ALWAYS = [
    *("127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"),
    *("169.254.169.254", "169.254.170.2", "169.254.1.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
    *("fd00:ec2::254", "fd00:ec2::23", "fe80::1", "fe80::1%eth0", "64:ff9b::7f00:1"),
    *("64:ff9b:1::a9fe:a9fe", "64:ff9b:1::a00:7"),
    *("224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1", "2002:7f00:1::", "2001::1"),
]


@pytest.mark.parametrize("address", ALWAYS)
def test_connectors_never_call_their_own_machine_or_metadata_even_inside_their_networks(address: str) -> None:
    problem = address_refusal(address, UNLIMITED)
    assert problem is not None
    assert "that no connector calls" in problem


def test_connectors_with_unlimited_networks_call_private_and_public_addresses() -> None:
    for address in (
        "10.0.0.7",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "fd12::1",
        "93.184.216.34",
        "64:ff9b::a00:7",
    ):
        assert address_refusal(address, UNLIMITED) is None, address


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_connectors_of_the_local_stage_call_loopback_addresses_in_their_networks(address: str) -> None:
    assert address_refusal(address, UNLIMITED, loopback=True) is None
    assert address_refusal(address, OFFICE, loopback=True) is not None


@pytest.mark.parametrize("address", [each for each in ALWAYS if "127." not in each and each.strip(":") != "1"])
def test_connectors_of_the_local_stage_call_no_metadata_either(address: str) -> None:
    if address != "64:ff9b::7f00:1":  # loopback behind NAT64
        assert address_refusal(address, UNLIMITED, loopback=True) is not None


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "192.168.7.0/24", "10.1.2.3/32", "fd00::/8", "93.184.216.0/24"])
def test_connectors_may_have_private_and_public_networks(cidr: str) -> None:
    assert network_problem(cidr) is None


@pytest.mark.parametrize(
    "cidr", ["10.0.0.1/8", "10.0.0.0", "ten", "", "0.0.0.0/0", "169.254.169.254/32", "127.0.0.0/8"]
)
def test_connectors_may_not_have_networks_that_none_may_call(cidr: str) -> None:
    assert (network_problem(cidr) is None) == (cidr == "10.0.0.0"), "one address is a network of its own"


def test_connectors_separate_the_failures_of_hosts_with_the_same_name() -> None:
    url = "https://erp.corp.example/a"
    assert place_of("acme", HttpTarget(url)) == "acme erp.corp.example"
    assert place_of("acme", HttpTarget(url, via="office")) == "acme erp.corp.example via office"


def test_connectors_add_nothing_to_the_stored_target_of_other_jobs() -> None:
    assert "via" not in stored_target(HttpTarget("https://example.com/"))
    target = HttpTarget("https://erp.corp.example/", via="office")
    assert stored_target(target)["via"] == "office"
    assert target_of(stored_target(target)) == target
