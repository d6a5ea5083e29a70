"""`api_domain`: a domain name of the API, its certificate, and what uses the name."""

import json
from typing import Any

import pytest

from infra.application import build
from infra.settings.config import ConfigError, StageConfig
from infra.stages import from_context
from tests.infra.conftest import Stack
from tests.support.emulators import client
from tests.support.policies import written
from tests.support.template import ROOT, template

CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/0e8b2d4c-0000-4000-8000-c6f6cb5f2d3a"
DOMAIN = {"name": "jobs.example.com", "certificate": CERTIFICATE}
ZONE = "Z0123456789ABCDEFGHIJ"
KINDS = ("AWS::ApiGatewayV2::DomainName", "AWS::ApiGatewayV2::ApiMapping", "AWS::Route53::RecordSet")


def made(stage: str = "prod", **more: str) -> Stack:
    return Stack(stage, template(stage, api_domain=json.dumps({**DOMAIN, **more}), oidc_keys='["2026"]'))


def configured(**domain: Any) -> StageConfig:
    return from_context({"stage": "prod", "api_domain": json.dumps({**DOMAIN, **domain})}.get)


def test_api_domain_is_mapped_to_the_stage_of_the_api_with_tls_1_2() -> None:
    stack = made()
    ((name, domain),) = stack.resources(KINDS[0]).items()
    assert domain["DomainName"] == "jobs.example.com"
    assert domain["DomainNameConfigurations"] == [
        {"CertificateArn": CERTIFICATE, "EndpointType": "REGIONAL", "SecurityPolicy": "TLS_1_2"}
    ]
    ((mapping_name, mapping),) = stack.resources(KINDS[1]).items()
    assert mapping == {"ApiId": {"Ref": stack.output("ApiId")}, "DomainName": {"Ref": name}, "Stage": "$default"}
    (stage,) = stack.resources("AWS::ApiGatewayV2::Stage")
    assert stage in stack.resource(mapping_name)["DependsOn"], "API Gateway rejects a mapping to a stage to come"
    assert stack.template["Outputs"]["ApiDomainTarget"]["Value"] == {"Fn::GetAtt": [name, "RegionalDomainName"]}
    assert stack.resources(KINDS[2]) == {}


def test_api_domain_endpoint_of_the_gateway_still_works_for_callbacks_and_trigger_urls_given_out_before() -> None:
    (api,) = made().resources("AWS::ApiGatewayV2::Api").values()
    assert "DisableExecuteApiEndpoint" not in api


def test_api_domain_record_is_created_only_in_a_hosted_zone_that_is_named() -> None:
    stack = made(hosted_zone=ZONE)
    (domain,) = stack.resources(KINDS[0])
    (record,) = stack.resources(KINDS[2]).values()
    assert record == {
        "Name": "jobs.example.com.",
        "Type": "A",
        "HostedZoneId": ZONE,
        "AliasTarget": {
            "DNSName": {"Fn::GetAtt": [domain, "RegionalDomainName"]},
            "HostedZoneId": {"Fn::GetAtt": [domain, "RegionalHostedZoneId"]},
        },
    }


def test_api_domain_is_the_address_in_outputs_and_the_issuer_of_tokens() -> None:
    stack = made()
    assert stack.template["Outputs"]["ApiUrl"]["Value"] == "https://jobs.example.com"
    assert stack.template["Outputs"]["ConsoleUrl"]["Value"] == "https://jobs.example.com/console"
    for name in ("Api", "ExecuteHigh", "ExecuteNormal", "ExecuteLow", "ExecuteLong"):
        issuer, _ = written(json.loads(stack.environment(f"{name}Function")["DUECOURSE_OIDC"])).split(" ")
        assert issuer == "https://jobs.example.com", name


def test_api_domain_login_to_the_console_returns_to_the_name_and_to_the_endpoint_of_the_gateway() -> None:
    stack = made()
    clients = stack.resources("AWS::Cognito::UserPoolClient").values()
    (browser,) = (each for each in clients if "CallbackURLs" in each)
    api = stack.output("ApiId")
    expected = ["https://jobs.example.com/console", f"{{{api}.ApiEndpoint}}/console"]
    assert [written(url) for url in browser["CallbackURLs"]] == expected
    assert browser["LogoutURLs"] == browser["CallbackURLs"]


def test_api_domain_adds_nothing_to_a_stage_without_it(stack: Stack) -> None:
    assert not [each for kind in KINDS for each in stack.resources(kind)]
    assert "ApiDomainTarget" not in stack.template["Outputs"]


def test_api_domain_resources_are_created_by_the_emulators_cloudformation(ministack: str) -> None:
    """The emulator does not serve the name, so no test calls the API by it."""
    zone = client("route53", ministack).create_hosted_zone(Name="example.com", CallerReference="api-domain")
    zone_id = zone["HostedZone"]["Id"].rpartition("/")[2]
    stack = made(hosted_zone=ZONE)
    kinds = {*KINDS, "AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Stage"}
    ours = {name: each for name, each in stack.template["Resources"].items() if each["Type"] in kinds}
    alone = {
        name: each | {"DependsOn": [other for other in each.get("DependsOn", ()) if other in ours]}
        for name, each in ours.items()
    }
    (stage,) = (each["Properties"] for each in alone.values() if each["Type"] == "AWS::ApiGatewayV2::Stage")
    for setting in ("AccessLogSettings", "RouteSettings"):  # of other resources
        del stage[setting]
    text = json.dumps({"Resources": alone}).replace(ZONE, zone_id)
    cloudformation = client("cloudformation", ministack)
    cloudformation.create_stack(StackName="api-domain", TemplateBody=text)
    cloudformation.get_waiter("stack_create_complete").wait(StackName="api-domain", WaiterConfig={"Delay": 1})
    gateway = client("apigatewayv2", ministack)
    (api,) = (each["ApiId"] for each in gateway.get_apis()["Items"] if each["Name"] == "Duecourse-prod")
    (mapping,) = gateway.get_api_mappings(DomainName="jobs.example.com")["Items"]
    assert (mapping["ApiId"], mapping["Stage"], mapping.get("ApiMappingKey", "")) == (api, "$default", "")
    target = gateway.get_domain_name(DomainName="jobs.example.com")["DomainNameConfigurations"][0]
    records = client("route53", ministack).list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"]
    (alias,) = (each["AliasTarget"] for each in records if each["Type"] == "A")
    assert alias["DNSName"].rstrip(".") == target["ApiGatewayDomainName"]
    cloudformation.delete_stack(StackName="api-domain")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName="api-domain", WaiterConfig={"Delay": 1})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"name": "https://jobs.example.com"},
            "name must be a name such as jobs.example.com, without a scheme, a port",
        ),
        ({"name": "jobs.example.com/v1"}, "name must be a name such as jobs.example.com, without a scheme, a port and"),
        (
            {"name": "jobs.example.com:443"},
            "name must be a name such as jobs.example.com, without a scheme, a port and",
        ),
        ({"name": "jobs.example.com."}, "name must not end with a dot, not 'jobs.example.com.'"),
        ({"name": "*.example.com"}, "name must be one name without a wildcard, because callers and tokens need one"),
        ({"name": "Jobs.example.com"}, "name must be in lowercase, because API Gateway rejects capitals"),
        ({"name": "jobs"}, "name must be a domain name such as jobs.example.com, not 'jobs'"),
        ({"name": "jobs..example.com"}, "name must be a domain name such as jobs.example.com"),
        ({"name": "-jobs.example.com"}, "name must be a domain name such as jobs.example.com"),
        ({"name": f"{'a' * 64}.example.com"}, "name must be a domain name such as jobs.example.com"),
        ({"name": f"{'a.' * 126}aa"}, "name must be a domain name such as jobs.example.com"),
        ({"name": ""}, "name must be a domain name such as jobs.example.com, not ''"),
        ({"certificate": "arn:aws:iam::123456789012:server-certificate/jobs"}, "certificate must be the ARN of a cert"),
        ({"certificate": "0e8b2d4c"}, "certificate must be the ARN of a certificate in ACM (arn:aws:acm:REGION:ACCOUN"),
        ({"hosted_zone": "example.com"}, "hosted_zone must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ"),
        ({"hosted_zone": f"/hostedzone/{ZONE}"}, "hosted_zone must be the id of a hosted zone, such as Z0123456789"),
        ({"certificate": None}, "certificate must be a string"),
        ({"zone": ZONE}, "api_domain.zone is not a setting"),
    ],
)
def test_api_domain_invalid_setting_is_refused_by_name(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        configured(**given)
    where = problem if problem.startswith("api_domain.") else f"api_domain.{problem}"
    assert where in str(refused.value)


def test_api_domain_needs_a_name_and_a_certificate() -> None:
    with pytest.raises(ConfigError, match=r"api_domain\.certificate must be set"):
        from_context({"stage": "prod", "api_domain": '{"name": "jobs.example.com"}'}.get)
    assert configured(hosted_zone=ZONE).api_domain is not None
    assert from_context({"stage": "prod", "api_domain": "null"}.get).api_domain is None


def test_api_domain_is_refused_on_the_local_stage() -> None:
    with pytest.raises(ConfigError, match="api_domain must be null on the local stage"):
        from_context({"stage": "local", "api_domain": json.dumps(DOMAIN)}.get)


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"CDK_DEFAULT_REGION": "eu-central-1"}, "must be of the region eu-central-1, not eu-west-1: API Gateway uses"),
        ({"CDK_DEFAULT_ACCOUNT": "210987654321"}, "must be of the account 210987654321, not 123456789012: API Gateway"),
    ],
)
def test_api_domain_certificate_of_another_region_or_account_is_refused(environ: dict[str, str], problem: str) -> None:
    context = {"stage": "prod", "api_domain": json.dumps(DOMAIN)}
    with pytest.raises(ConfigError, match=rf"api_domain\.certificate {problem}"):
        build(context=context, environ=environ)


def test_api_domain_certificate_of_the_stage_is_accepted() -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"] | {"aws:cdk:bundling-stacks": [], "stage": "dev"}
    fitting = {"CDK_DEFAULT_REGION": "eu-west-1", "CDK_DEFAULT_ACCOUNT": "123456789012"}
    build(context=ours | {"api_domain": json.dumps(DOMAIN)}, environ=fitting)
