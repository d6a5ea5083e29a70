"""The field `via` of a posted HTTP target."""

from dataclasses import replace
from typing import Any

import pytest

from duecourse.api.bodies.validation import read_job
from duecourse.api.problems import Problem
from duecourse.domain.jobs.document import definition_document
from tests.support.connectors import ANYWHERE, OFFICE
from tests.support.posting import RULES, check, posted

SHARED = replace(ANYWHERE, name="shared", tenants=("*",))
OF_ACME = replace(RULES, tenant="acme", allowed=replace(RULES.allowed, connectors={"office": OFFICE, "shared": SHARED}))
OF_OTHERS = replace(OF_ACME, tenant="globex")
ERP = "https://erp.corp.example/invoices"


def target(url: str = ERP, via: Any = "office", **more: Any) -> dict[str, Any]:
    return {"type": "http", "url": url, "via": via, **more}


def faults(document: dict[str, Any], rules: Any = OF_ACME) -> dict[str, str]:
    with pytest.raises(Problem) as refused:
        read_job(posted(target=document), rules.tenant, rules, check)
    assert refused.value.status == 422
    return {fault.pointer or "": fault.detail for fault in refused.value.faults}


@pytest.mark.parametrize(
    "url", [ERP, "http://erp.corp.example:8080/", "https://10.1.2.3/", "https://a.b.corp.example/"]
)
def test_connectors_field_admits_private_hosts_of_the_connector_and_plain_http(url: str) -> None:
    draft = read_job(posted(target=target(url)), "acme", OF_ACME, check)
    assert definition_document(draft)["target"]["via"] == "office"


def test_connectors_field_is_null_without_a_connector() -> None:
    draft = read_job(posted(target=target("https://example.com/", None)), "acme", OF_ACME, check)
    assert definition_document(draft)["target"]["via"] is None


@pytest.mark.parametrize("via", ["office", "plant"])
def test_connectors_field_refuses_unknown_connectors_and_those_of_other_tenants_alike(via: str) -> None:
    assert faults(target(via=via), OF_OTHERS) == {
        "/target/via": "is not a connector of this tenant; use shared, or ask the operator to add the tenant to the "
        f"stage's setting connectors.{via}.tenants"
    }


@pytest.mark.parametrize("via", ["", "Office", "off-ice", "a" * 19, "../x"])
def test_connectors_field_refuses_what_is_no_name(via: str) -> None:
    assert faults(target(via=via)) == {"/target/via": "must be the name of a connector, such as office"}


def test_connectors_field_refuses_a_host_outside_the_list_with_the_setting_to_change() -> None:
    (detail,) = faults(target("https://erp.evil.example/")).values()
    assert detail.startswith("must name a host of the connector")
    assert "connectors.office.hosts" in detail


def test_connectors_field_compares_an_ipv6_address_in_its_short_form() -> None:
    narrow = replace(OFFICE, hosts=("fd00::7",), cidrs=("fd00::/8",))
    rules = replace(OF_ACME, allowed=replace(RULES.allowed, connectors={"office": narrow}))
    draft = read_job(posted(target=target("https://[FD00:0:0::7]/")), "acme", rules, check)
    assert definition_document(draft)["target"]["via"] == "office"


def test_connectors_field_refuses_an_address_outside_the_networks() -> None:
    narrow = replace(OF_ACME, allowed=replace(RULES.allowed, connectors={"office": replace(OFFICE, hosts=("*",))}))
    (detail,) = faults(target("https://192.168.0.1/"), narrow).values()
    assert "connectors.office.cidrs" in detail


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "0.0.0.0",
    ],
)
def test_connectors_field_refuses_addresses_that_no_connector_calls(host: str) -> None:
    assert "that no connector calls" in faults(target(f"https://{host}/", "shared"))["/target/url"]


def test_connectors_field_other_rules_of_urls_apply_too() -> None:
    assert "credentials" in faults(target("https://u:p@erp.corp.example/"))["/target/url"]


def test_connectors_field_private_hosts_still_need_a_connector() -> None:
    assert "must name a public host" in faults(target("https://10.1.2.3/", None))["/target/url"]
