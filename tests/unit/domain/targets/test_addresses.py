from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from duecourse.domain.targets.http import not_public


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "52.94.236.248", "100.63.255.255", "172.15.0.1", "172.32.0.1", "192.0.1.1", "2606:4700::1111",
     "2a05:d018::1", "2001:4860:4860::8888", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"],
)  # fmt: skip
def test_public_addresses_may_be_called(address):
    assert not_public(address) is None


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0", "this network"),
        ("0.1.2.3", "this network"),
        ("10.0.0.1", "private network"),
        ("172.16.0.1", "private network"),
        ("172.31.255.255", "private network"),
        ("192.168.1.1", "private network"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.100.100.200", "carrier-grade NAT"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("169.254.1.1", "link-local"),
        ("169.254.169.254", "cloud metadata"),
        ("169.254.170.2", "cloud metadata"),
        ("169.254.170.23", "cloud metadata"),
        ("192.0.0.192", "protocol assignments"),
        ("192.0.2.1", "documentation"),
        ("198.18.0.1", "benchmarking"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fc00::1", "private network"),
        ("fd00:ec2::254", "cloud metadata"),
        ("fd00:ec2::254%eth0", "cloud metadata"),
        ("fec0::1", "private network"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("100::1", "discard"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
    ],
)
def test_other_addresses_may_not_and_the_reason_is_said(address, reason):
    assert not_public(address) == reason


@pytest.mark.parametrize(
    "address",
    ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:a00:1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe",
     "64:ff9b:1::8.8.8.8", "2002:7f00:1::", "2002:808:808::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "::127.0.0.1",
     "::8.8.8.8"],
)  # fmt: skip
def test_an_ipv4_address_cannot_hide_in_an_ipv6_one(address):
    assert not_public(address) is not None


def test_a_mapped_address_is_judged_as_the_address_inside():
    assert not_public("::ffff:169.254.169.254") == "cloud metadata"


def test_what_is_no_address_is_an_error():
    with pytest.raises(ValueError, match=r"example\.com"):
        not_public("example.com")


@given(st.ip_addresses(v=4))
def test_whatever_python_calls_private_is_refused(address: IPv4Address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert not_public(address) is not None


@given(st.ip_addresses(v=6))
def test_the_same_holds_for_ipv6(address: IPv6Address):
    assume(address not in IPv6Network("::ffff:0:0/96") and address not in IPv6Network("64:ff9b::/96"))
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        assert not_public(address) is not None


@given(st.ip_addresses(v=4))
def test_the_forms_of_an_ipv4_address_share_its_verdict(address: IPv4Address):
    assert not_public(f"::ffff:{address}") == not_public(address)
    assert not_public(f"64:ff9b::{address}") == not_public(address)
