"""cdk-nag's AwsSolutions rules and CloudFormation's own: no finding, and no exception without a reason or a use."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnResource, Stack
from aws_cdk import aws_s3 as s3

from infra.application import build
from infra.nag import check
from tests.support.template import ROOT

MIN_WORDS = 10
OFFICE = {
    "subnets": ["subnet-0123456789abcdef0"],
    "security_groups": ["sg-0123456789abcdef0"],
    "tenants": ["erp"],
    "hosts": ["*.corp.example"],
    "cidrs": ["10.0.0.0/8"],
}
DEPLOYMENTS: dict[str, dict[str, str]] = {
    "dev": {"stage": "dev"},
    "prod": {"stage": "prod"},
    "prod with signatures, a key of its own and no canary": {
        "stage": "prod",
        "auth": "iam",
        "encryption_key": "own",
        "deployment": "all_at_once",
    },
    "dev with tokens, a key of the operator's, and no protection": {
        "stage": "dev",
        "issuer": "https://issuer.example.com",
        "audience": "duecourse",
        "encryption_key": "arn:aws:kms:eu-west-1:123456789012:key/6f1b9f0e-0000-4000-8000-000000000000",
        "deletion_protection": "off",
        "reserved_concurrency": "none",
    },
    "dev with a connector and capacity for peaks": {
        "stage": "dev",
        "connectors": json.dumps({"office": OFFICE}),
        "prescale": '{"dollars_per_day": 15}',
    },
}

REPORT = "validation-report.json"


@dataclass(frozen=True)
class Checked:
    """What the rules said of a deployment, and what its constructs acknowledge: (path, rule) with the reason."""

    report: dict[str, Any]
    acknowledged: dict[tuple[str, str], str]


def rules_in(folder: Path) -> dict[str, Any]:
    """The report of cdk-nag alone; the CDK may have others."""
    reports = json.loads((folder / REPORT).read_text())["pluginReports"]
    (report,) = [each for each in reports if each["pluginName"] == "AwsSolutions"]
    found: dict[str, Any] = report
    return found


@pytest.fixture(scope="module", params=sorted(DEPLOYMENTS))
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    folder = tmp_path_factory.mktemp("nag")
    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    context = {**ours, "aws:cdk:bundling-stacks": [], **DEPLOYMENTS[request.param]}
    app = build(outdir=str(folder), context=context, checked=True)
    app.synth()  # which a finding would fail
    metadata = json.loads(next(folder.glob("*.metadata.json")).read_text())
    acknowledged = {
        (path.removeprefix("/"), rule): reason
        for path, entries in metadata.items()
        for entry in entries
        if entry["type"] == "aws:cdk:acknowledged-rules"
        for rule, reason in entry["data"].items()
    }
    return Checked(rules_in(folder), acknowledged)


def test_cdk_nag_rules_have_no_findings(checked: Checked) -> None:
    assert checked.report["conclusion"] == "success"
    assert checked.report.get("violations", []) == []


def test_cdk_nag_every_exception_has_a_reason(checked: Checked) -> None:
    assert checked.acknowledged
    for (path, rule), reason in checked.acknowledged.items():
        assert len(reason.split()) >= MIN_WORDS, f"{rule} of {path} is acknowledged with nothing but {reason!r}"


def test_cdk_nag_every_exception_is_still_needed(checked: Checked) -> None:
    used = {(each["acknowledgedAt"], each["acknowledgedId"]) for each in checked.report["suppressedViolations"]}
    assert set(checked.acknowledged) == used


def test_cdk_nag_finding_fails_the_synthesis_with_resource_and_rule(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    s3.Bucket(Stack(app, "Careless"), "Open")
    check(app)
    with pytest.raises(RuntimeError, match=r"^ValidationFailed"):
        app.synth()
    found = {
        each["ruleName"]: [construct["constructPath"] for construct in each["violatingConstructs"]]
        for each in rules_in(tmp_path)["violations"]
    }
    assert found["AwsSolutions-S10"] == ["Careless/Open/Resource"]


def test_cdk_nag_invalid_cloudformation_fails_the_synthesis(tmp_path: Path) -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    context = {**ours, "aws:cdk:bundling-stacks": [], "stage": "dev"}
    app = build(outdir=str(tmp_path), context=context, checked=True)
    (stack,) = [each for each in app.node.children if isinstance(each, Stack)]
    CfnResource(stack, "Wrong", type="AWS::SQS::Queue", properties={"VisibilityTimeout": "long"})
    with pytest.raises(RuntimeError, match=r"^ValidationFailed"):
        app.synth()
    assert "VisibilityTimeout" in (tmp_path / REPORT).read_text()


def test_cdk_nag_local_stage_is_exempt_from_aws_rules(tmp_path: Path) -> None:
    ours = json.loads((ROOT / "cdk.json").read_text())["context"]
    build(outdir=str(tmp_path), context={**ours, "aws:cdk:bundling-stacks": [], "stage": "local"}, checked=True).synth()
    assert not (tmp_path / REPORT).exists() or "AwsSolutions" not in (tmp_path / REPORT).read_text()
