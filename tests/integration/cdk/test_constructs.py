"""The templates of apps that have jobs and workflows of Duecourse."""

import json
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from aws_cdk import App, Environment, NestedStack, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk.assertions import Annotations, Match, Template

from duecourse_cdk import Auth, Duecourse, ScheduledJob, Workflow
from duecourse_cdk.__main__ import main
from duecourse_cdk.stage import FUNCTION
from tests.support.template import ROOT

API = "https://abc123.execute-api.eu-central-1.amazonaws.com"
SCHEDULE = "0 2 * * *"
URL = "https://example.com/hook"


class Site:
    """A stack of a user's app with a stage."""

    def __init__(self, name: str = "Billing", **more: Any) -> None:
        self.app = App()
        self.stack = Stack(self.app, name)
        self.secret = secretsmanager.Secret(self.stack, "Token")
        self.stage = self.on(**more)

    def on(self, construct_id: str = "Duecourse", **more: Any) -> Duecourse:
        return Duecourse.from_api(self.stack, construct_id, **{"api": API, "auth": Auth.token(self.secret)} | more)

    def job(self, construct_id: str = "Nightly", **more: Any) -> ScheduledJob:
        return ScheduledJob(
            self.stack, construct_id, **{"stage": self.stage, "schedule": SCHEDULE, "target": URL} | more
        )

    def function(self, name: str | None = "duecourse-target-nightly") -> lambda_.Function:
        return lambda_.Function(
            self.stack,
            "Fn",
            function_name=name,
            runtime=lambda_.Runtime.PYTHON_3_13,
            handler="index.handler",
            code=lambda_.Code.from_inline("def handler(event, context): ..."),
        )

    @cached_property
    def template(self) -> dict[str, Any]:
        """Synthesised once all is in it."""
        found: dict[str, Any] = Template.from_stack(self.stack).to_json()
        return found

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.template["Resources"].values() if each["Type"] == kind]

    @property
    def properties(self) -> dict[str, Any]:
        (job,) = self.of("Custom::DuecourseJob")
        found: dict[str, Any] = job["Properties"]
        return found

    @property
    def rights(self) -> dict[str, Any]:
        """Of the function: what it may do on what."""
        (function,) = (
            each for each in self.of("AWS::Lambda::Function") if "Duecourse" in each["Properties"]["Description"]
        )
        (role,) = function["Properties"]["Role"].values()
        (policy,) = (p for p in self.of("AWS::IAM::Policy") if p["Properties"]["Roles"] == [{"Ref": role[0]}])
        found = {}
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            actions = statement["Action"]
            found[" ".join([actions] if isinstance(actions, str) else actions)] = statement["Resource"]
        return found

    @property
    def warnings(self) -> list[str]:
        found = Annotations.from_stack(self.stack).find_warning("*", Match.any_value())
        return [str(each.entry.data) for each in found]


@pytest.fixture
def site() -> Site:
    return Site()


def test_constructs_job_is_a_resource_with_its_document_and_owner_tags(site: Site) -> None:
    job = site.job(timezone="Europe/Berlin", payload={"month": None, "n": 1}, retry={"max_attempts": 3}, tags=["money"])
    document = json.loads(site.properties["Document"])
    assert document == {key: job.document[key] for key in job.document if key != "id"}
    assert document["payload"] == {"month": None, "n": 1}
    assert document["target"] == {"type": "http", "url": URL}
    assert document["tags"][:2] == ["money", "managed-by=stack:Billing"]
    assert document["tags"][2].startswith("construct:c8")
    assert site.properties["ServiceTimeout"] == "900"


def test_constructs_token_is_neither_in_the_template_nor_in_the_function_environment(site: Site) -> None:
    site.job()
    (function,) = site.of("AWS::Lambda::Function")
    assert "Environment" not in function["Properties"]
    assert list(site.properties["Auth"]["Secret"]) == ["Ref"]
    assert "resolve:" not in json.dumps(site.template)


def test_constructs_function_may_only_read_its_secret_and_write_its_log(site: Site) -> None:
    site.job()
    assert list(site.rights) == [
        "logs:CreateLogStream logs:PutLogEvents",
        "secretsmanager:GetSecretValue secretsmanager:DescribeSecret",
    ]
    assert all("*" not in json.dumps(resource) for resource in site.rights.values())
    (role,) = (each for each in site.of("AWS::IAM::Role"))
    assert "ManagedPolicyArns" not in role["Properties"]


def test_constructs_parameter_is_read_with_decryption_by_its_name() -> None:
    site = Site()
    parameter = ssm.StringParameter.from_secure_string_parameter_attributes(
        site.stack, "Parameter", parameter_name="/ci/duecourse"
    )
    site.job(stage=site.on("Other", auth=Auth.client_credentials(parameter)))
    assert site.properties["Auth"] == {"Kind": "client_credentials", "Parameter": "/ci/duecourse"}
    (actions,) = (each for each in site.rights if each.startswith("ssm:"))
    assert "ssm:GetParameter" in actions.split()
    assert ":parameter/ci/duecourse" in json.dumps(site.rights[actions])


def test_constructs_with_iam_the_function_may_only_invoke_that_api(site: Site) -> None:
    site.job(stage=site.on("Other", auth=Auth.iam()))
    assert site.properties["Auth"] == {"Kind": "iam", "Region": "eu-central-1"}
    said = json.dumps(site.rights["execute-api:Invoke"])
    assert ":execute-api:eu-central-1:" in said
    assert ":abc123/*/*/v1/jobs/*" in said
    assert "secretsmanager" not in json.dumps(list(site.rights))


def test_constructs_with_iam_the_id_of_an_api_with_a_custom_domain_is_required(site: Site) -> None:
    with pytest.raises(ValueError, match="api_id"):
        site.job("A", stage=site.on("B", api="https://jobs.example.com", auth=Auth.iam()))
    given = Auth.iam(api_id="xyz", region="us-east-1")
    site.job(stage=site.on("C", api="https://jobs.example.com", auth=given))
    assert ":xyz/*/*/v1/jobs/*" in json.dumps(site.rights)


def test_constructs_jobs_of_a_stack_share_one_function(site: Site) -> None:
    site.job("A")
    site.job("B")
    assert len(site.of("AWS::Lambda::Function")) == 1


@pytest.mark.parametrize("api", ["http://api.example.com", "ftp://x", f"{API}/v1", f"{API}?a=b"])
def test_constructs_invalid_api_address_is_rejected(api: str) -> None:
    with pytest.raises(ValueError, match="api must"):
        Site(api=api)


# --- ids


def test_constructs_id_is_derived_from_the_path_and_stays_the_same() -> None:
    first, again = Site().job(), Site().job()
    assert first.job_id == again.job_id
    assert first.job_id.startswith("Billing-Nightly-")


def test_constructs_id_derived_from_a_long_path_is_valid() -> None:
    site = Site()
    job = site.job("A job. With a name (that is far too long) for an id" * 3)
    assert len(job.job_id) <= 64
    assert job.job_id.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("job_id", ["", "a b", "a.b", "x" * 65])
def test_constructs_invalid_id_is_rejected(site: Site, job_id: str) -> None:
    with pytest.raises(ValueError, match="Billing/Nightly: the id must be"):
        site.job(job_id=job_id)


def test_constructs_duplicate_id_is_rejected_and_both_constructs_are_named(site: Site) -> None:
    site.job(job_id="load")
    jobs = {"load": {"job_id": "load", "job": {"target": URL}}}
    with pytest.raises(ValueError, match=r"Billing/Etl: the job id load is already used by Billing/Nightly"):
        Workflow(site.stack, "Etl", stage=site.stage, document={"schedule": SCHEDULE, "jobs": jobs})


def test_constructs_tag_of_a_stack_with_a_long_name_is_valid() -> None:
    tags = [Site(f"{'A' * 80}{end}").job().document["tags"][0] for end in "BC"]
    assert [len(tag) for tag in tags] == [64, 64]
    assert tags[0] != tags[1]


def test_constructs_job_in_a_nested_stack_belongs_to_the_parent_stack(site: Site) -> None:
    nested = NestedStack(site.stack, "Nested")
    job = ScheduledJob(nested, "Nightly", stage=site.stage, schedule=SCHEDULE, target=URL)
    assert job.document["tags"][0] == "managed-by=stack:Billing"


# --- targets


def test_constructs_resources_of_the_app_are_targets_by_their_names(site: Site) -> None:
    stack = site.stack
    machine = sfn.DefinitionBody.from_chainable(sfn.Pass(stack, "Pass"))
    targets = {
        "lambda function": site.function(),
        "sqs queue": sqs.Queue(stack, "Q", queue_name="duecourse-target-q"),
        "sns topic": sns.Topic(stack, "T", topic_name="duecourse-target-t"),
        "eventbridge bus": events.EventBus(stack, "E", event_bus_name="duecourse-target-e"),
        "stepfunctions machine": sfn.StateMachine(
            stack, "M", state_machine_name="duecourse-target-m", definition_body=machine
        ),
    }
    for number, (words, target) in enumerate(targets.items()):
        kind, name = words.split()
        document = site.job(f"Job{number}", target=target).document["target"]
        assert document["type"] == kind
        assert document[name].startswith("duecourse-target-"), "as it is written, and no reference"
    waiting = [set(each["DependsOn"]) for each in site.of("Custom::DuecourseJob")]
    assert all(waiting), "the job comes after what it calls, and goes before it"
    assert site.warnings == []


def test_constructs_imported_resources_can_be_targets(site: Site) -> None:
    stack = site.stack
    arn = "arn:aws:states:eu-central-1:123456789012:stateMachine:duecourse-target-m"
    machine = site.job("A", target=sfn.StateMachine.from_state_machine_arn(stack, "M", arn)).document["target"]
    known = lambda_.Function.from_function_arn(stack, "F", "arn:aws:lambda:eu-central-1:123456789012:function:mine")
    function = site.job("B", target=known).document["target"]
    assert machine == {"type": "stepfunctions", "machine": "duecourse-target-m"}
    assert function == {"type": "lambda", "function": "mine"}
    assert [warning.partition(" (")[0] for warning in site.warnings] == [
        "the stage allows duecourse-target-*, but not mine"
    ]


def test_constructs_generated_resource_name_is_resolved_at_deployment_with_a_warning(site: Site) -> None:
    site.job(target=sqs.Queue(site.stack, "Q"))
    assert "Fn::Join" in site.properties["Document"]
    assert "choose such a name for Billing/Q" in site.warnings[0]


def test_constructs_names_allowed_by_the_operator_cause_no_warning(site: Site) -> None:
    site.job(stage=site.on("Other", allowed_names=["Billing-*"]), target=sqs.Queue(site.stack, "Q"))
    assert site.warnings == []


def test_constructs_mapping_is_used_as_a_target_unchanged(site: Site) -> None:
    target = {"type": "sqs", "queue": "duecourse-target-a.fifo", "group": "{{month}}"}
    assert site.job(target=target).document["target"] == target


def test_constructs_function_version_or_alias_is_rejected(site: Site) -> None:
    function = site.function()
    with pytest.raises(ValueError, match="instead of an alias or version"):
        site.job("A", target=function.current_version)
    with pytest.raises(ValueError, match="instead of an alias or version"):
        site.job("B", target=lambda_.Alias(site.stack, "Live", alias_name="live", version=function.current_version))


def test_constructs_unsupported_target_is_rejected(site: Site) -> None:
    with pytest.raises(ValueError, match="Billing/Nightly: target must be"):
        site.job(target=site.secret)


# --- workflows


def test_constructs_workflow_contains_the_targets_of_its_jobs_and_tags_them(site: Site) -> None:
    steps = {
        "extract": {"job": {"target": site.function(), "tags": ["a"]}},
        "load": {"after": ["extract"], "job": {"target": URL}},
        "old": {"after": ["load"]},
    }
    workflow = Workflow(site.stack, "Etl", stage=site.stage, document={"schedule": SCHEDULE, "jobs": steps})
    (made,) = site.of("Custom::DuecourseWorkflow")
    document = json.loads(made["Properties"]["Document"])
    assert {"workflow": workflow.workflow_id, **document} == workflow.document
    assert document["jobs"]["extract"]["job"]["target"] == {"type": "lambda", "function": "duecourse-target-nightly"}
    assert document["jobs"]["extract"]["job"]["tags"] == ["a", *document["tags"]]
    assert document["jobs"]["old"] == {"after": ["load"]}


def test_constructs_documents_of_an_app_are_written_for_apply(
    tmp_path: Path, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    job = site.job(target=site.function())
    jobs = {"load": {"job": {"target": URL}}}
    workflow = Workflow(site.stack, "Etl", stage=site.stage, document={"schedule": SCHEDULE, "jobs": jobs})
    (tmp_path / "Billing.template.json").write_text(json.dumps(site.template))
    (tmp_path / "Other.template.json").write_text("{}")
    assert main(str(tmp_path)) == 0
    assert json.loads((tmp_path / "Billing.duecourse.json").read_text()) == [job.document, workflow.document]
    assert "Billing.duecourse.json: 2 documents" in capsys.readouterr().out
    assert not (tmp_path / "Other.duecourse.json").exists()


def test_constructs_document_known_only_at_deployment_is_omitted_and_reported(
    tmp_path: Path, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.job(job_id="bills", target=sqs.Queue(site.stack, "Q"))
    (tmp_path / "Billing.template.json").write_text(json.dumps(site.template))
    assert main(str(tmp_path)) == 1
    assert "bills is omitted" in capsys.readouterr().err


def test_constructs_example_app_of_the_documentation_is_valid() -> None:
    page = (ROOT / "docs" / "jobs-as-code.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    made: dict[str, Any] = {}
    exec(program, made)
    template = Template.from_stack(made["stack"])
    template.resource_count_is("Custom::DuecourseJob", 1)
    template.resource_count_is("Custom::DuecourseWorkflow", 1)
    assert not Annotations.from_stack(made["stack"]).find_warning("*", Match.any_value())


def test_constructs_wheel_contains_the_function(tmp_path: Path) -> None:
    build = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT / "cdk", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("duecourse_cdk-*.whl")
    names = set(ZipFile(wheel).namelist())
    assert {str(path.relative_to(ROOT / "cdk")) for path in FUNCTION.rglob("*.py")} <= names
    assert "duecourse_cdk/py.typed" in names
    assert not {name for name in names if name.startswith(("infra", "duecourse/"))}


def test_constructs_document_too_large_for_an_event_is_rejected(site: Site) -> None:
    with pytest.raises(ValueError, match=r"Billing/Nightly: the document takes .* 100000"):
        site.job(payload="x" * 100_000)


def test_constructs_job_with_a_retain_policy_is_retained(site: Site) -> None:
    site.job(removal_policy=RemovalPolicy.RETAIN)
    (job,) = site.of("Custom::DuecourseJob")
    assert job["DeletionPolicy"] == "Retain"


def test_constructs_stack_with_a_known_account_has_the_same_template() -> None:
    app = App()
    stack = Stack(app, "Billing", env=Environment(account="123456789012", region="eu-central-1"))
    secret = secretsmanager.Secret.from_secret_name_v2(stack, "Token", "ci/duecourse")
    stage = Duecourse.from_api(stack, "Duecourse", api=API, auth=Auth.token(secret))
    queue = sqs.Queue(stack, "Q", queue_name="duecourse-target-q")
    job = ScheduledJob(stack, "Nightly", stage=stage, schedule=SCHEDULE, target=queue)
    assert job.document["target"] == {"type": "sqs", "queue": "duecourse-target-q"}
    Template.from_stack(stack).resource_count_is("Custom::DuecourseJob", 1)
