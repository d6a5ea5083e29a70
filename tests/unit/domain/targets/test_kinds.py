"""Kinds of targets, their documents and their addresses.

- The kinds of targets: each definition fits its model, the API, its caller and what else is made from it.
- A target as a JSON document, the same in requests, answers and the table.


"""

import json
from importlib import import_module
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Any, get_args, get_type_hints

import pytest
from botocore.session import get_session
from hypothesis import assume, given
from hypothesis import strategies as st

from duecourse.api.bodies.target_bodies import TARGET_BODIES
from duecourse.api.openapi.served import document
from duecourse.domain.targets.allowed_targets import ALLOW_LISTS
from duecourse.domain.targets.http import header_problem, is_reserved_header, not_public
from duecourse.domain.targets.kinds import TARGETS, TargetKind, target_document, target_of, type_of
from duecourse.domain.targets.targets import (
    AwsTarget,
    CallableTarget,
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    LambdaMode,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    TaskTarget,
    WorkflowTarget,
)
from scripts import generated
from scripts.console_kinds import written
from tests.support.every_target import EVERY_TARGET

KINDS = pytest.mark.parametrize(("word", "kind"), TARGETS.items(), ids=list(TARGETS))
POSTED = {word: kind for word, kind in TARGETS.items() if kind.postable}


def test_targets_have_one_kind_per_model() -> None:
    models = {model for union in get_args(Target) for model in (get_args(union) or (union,))}
    assert {kind.model for kind in TARGETS.values()} == models


@KINDS
def test_targets_kinds_have_the_fields_and_an_example_of_their_model(word: str, kind: TargetKind) -> None:
    assert set(kind.fields) == set(kind.example) == set(kind.model.__dataclass_fields__)
    assert target_document(kind.target(kind.example)) == {"type": word} | {
        name: tuple(value) if isinstance(value, list) else value for name, value in kind.example.items()
    }


@KINDS
def test_targets_kinds_use_only_their_own_fields_in_descriptions(word: str, kind: TargetKind) -> None:
    values = dict.fromkeys(kind.fields, word)
    assert kind.text.format(**values)
    assert kind.short.format(**values)


def test_targets_kinds_that_can_be_posted_have_a_body_with_their_fields() -> None:
    bodies = {word: set(model.model_fields) - {"type"} for word, model in TARGET_BODIES.items()}
    assert bodies == {word: set(kind.fields) for word, kind in POSTED.items()}


@pytest.mark.parametrize(("word", "kind"), POSTED.items(), ids=list(POSTED))
def test_targets_kinds_describe_each_required_field(word: str, kind: TargetKind) -> None:
    required = {name for name, field in TARGET_BODIES[word].model_fields.items() if field.is_required()} - {"type"}
    assert {name for name, field in kind.fields.items() if field.wanted is not None} == required


@KINDS
def test_targets_kinds_that_are_called_have_a_caller_for_their_model(word: str, kind: TargetKind) -> None:
    assert (kind.call is not None) == issubclass(kind.model, get_args(CallableTarget)), word
    if kind.call is not None:
        module, _, name = kind.call.partition(":")
        assert get_type_hints(getattr(import_module(module), name).call)["target"] is kind.model
    assert not kind.service or kind.service in get_session().get_available_services()


@KINDS
def test_targets_kinds_grant_workers_the_permissions_that_a_stage_allows_jobs(word: str, kind: TargetKind) -> None:
    named = {each for each, _ in kind.named(kind.target(kind.example))}
    permitted = {name for each in kind.permissions for name in (each.of, *each.needs)}
    assert named <= set(ALLOW_LISTS)
    assert permitted <= {*ALLOW_LISTS, "task_roles"}
    assert named - permitted <= {"subnets", "security_groups"}, f"{word}: no role may use what jobs may name"


def test_targets_kinds_in_the_console_are_up_to_date() -> None:
    assert (generated.ROOT / generated.KINDS).read_text(encoding="utf-8") == written(document())


texts = st.text(max_size=20)
few = st.lists(texts, max_size=3).map(tuple)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
targets = st.one_of(
    st.builds(
        HttpTarget,
        texts,
        texts,
        st.dictionaries(texts, texts).map(lambda pairs: tuple(pairs.items())),
        few,
        st.none() | texts,
    ),
    st.builds(LambdaTarget, texts, st.sampled_from(LambdaMode)),
    st.builds(SqsTarget, texts, st.none() | texts),
    st.builds(SnsTarget, texts, st.none() | texts, st.none() | texts),
    st.builds(EventBridgeTarget, texts, texts, texts),
    st.builds(StepFunctionsTarget, texts),
    st.builds(EcsTarget, texts, texts, texts, few, few, st.booleans()),
    st.builds(AwsTarget, texts, texts, values, texts),
    st.builds(TaskTarget, texts),
    st.builds(WorkflowTarget, texts),
)
DOCUMENT_KINDS = (*EVERY_TARGET, WorkflowTarget("3f2a"))
"""Those that can be posted, and the one that cannot."""


def over_the_wire(document: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(document))
    return read


@given(targets)
def test_targets_round_trip_through_their_documents(target: Target) -> None:
    assert target_of(over_the_wire(target_document(target))) == target
    assert target_of(target_document(target)) == target


def test_targets_have_an_example_of_every_kind() -> None:
    kinds = {kind for union in get_args(Target) for kind in (get_args(union) or (union,))}
    assert {type(target) for target in DOCUMENT_KINDS} == kinds
    assert len({type_of(target) for target in DOCUMENT_KINDS}) == len(kinds)


@pytest.mark.parametrize("target", DOCUMENT_KINDS, ids=type_of)
def test_targets_document_contains_its_type_and_every_field(target: Target) -> None:
    document = target_document(target)
    assert document["type"] == type_of(target)
    assert set(document) == {"type", *type(target).__dataclass_fields__}


@pytest.mark.parametrize(
    ("document", "target"),
    [
        (
            {"type": "http", "url": "https://a.example/", "method": "GET", "headers": {"X-A": "1", "X-B": "2"}},
            HttpTarget("https://a.example/", "GET", (("X-A", "1"), ("X-B", "2"))),
        ),
        ({"type": "lambda", "function": "duecourse-target-a"}, LambdaTarget("duecourse-target-a")),
    ],
)
def test_targets_document_of_the_first_release_is_read_with_defaults(document: dict[str, Any], target: Target) -> None:
    assert target_of(document) == target


def test_targets_document_of_unknown_type_is_rejected() -> None:
    with pytest.raises(ValueError, match="unknown target type 'carrier-pigeon'"):
        target_of({"type": "carrier-pigeon"})


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "52.94.236.248", "100.63.255.255", "172.15.0.1", "172.32.0.1", "192.0.1.1", "2606:4700::1111",
     "2a05:d018::1", "2001:4860:4860::8888", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8"],
)  # fmt: skip
def test_targets_public_addresses_are_allowed(address):
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
        ("64:ff9b:1::8.8.8.8", "local NAT64"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("100::1", "discard"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
    ],
)
def test_targets_other_addresses_are_rejected_with_a_reason(address, reason):
    assert not_public(address) == reason


@pytest.mark.parametrize(
    "address",
    ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:a00:1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe",
     "64:ff9b:1::8.8.8.8", "2002:7f00:1::", "2002:808:808::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "::127.0.0.1",
     "::8.8.8.8"],
)  # fmt: skip
def test_targets_ipv4_address_embedded_in_an_ipv6_one_is_rejected(address):
    assert not_public(address) is not None


def test_targets_mapped_address_is_classified_as_the_embedded_one():
    assert not_public("::ffff:169.254.169.254") == "cloud metadata"


def test_targets_invalid_address_raises_an_error():
    with pytest.raises(ValueError, match=r"example\.com"):
        not_public("example.com")


@given(st.ip_addresses(v=4))
def test_targets_ipv4_addresses_that_python_considers_private_are_rejected(address: IPv4Address):
    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert not_public(address) is not None


@given(st.ip_addresses(v=6))
def test_targets_ipv6_addresses_that_python_considers_private_are_rejected(address: IPv6Address):
    assume(address not in IPv6Network("::ffff:0:0/96") and address not in IPv6Network("64:ff9b::/96"))
    if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
        assert not_public(address) is not None


@given(st.ip_addresses(v=4))
def test_targets_all_forms_of_an_ipv4_address_give_the_same_result(address: IPv4Address):
    assert not_public(f"::ffff:{address}") == not_public(address)
    assert not_public(f"64:ff9b::{address}") == not_public(address)


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "X-Duecourse-Anything"])
def test_targets_headers_of_connection_and_run_are_reserved(name):
    assert is_reserved_header(name)


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "X-Api-Key", "User-Agent", "Accept"])
def test_targets_headers_with_other_names_are_not_reserved(name):
    assert not is_reserved_header(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [("X", "a\r\nHost: b"), ("X", "\x00"), ("X", "€"), ("X", " a"), ("X", "a\t"), ("X: y", "z"), ("", "z")],
)
def test_targets_header_cannot_contain_another_one(name, value):
    problem = header_problem(name, value)
    assert problem is not None
    assert value not in problem or value == "z"


def test_targets_ordinary_header_is_valid():
    assert header_problem("Authorization", "Bearer ü.~\tb") is None
