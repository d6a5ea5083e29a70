"""The doctor before the deployed local stack: well, it says so; broken in three places, it finds them all."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner

from duecourse.cli.main import main
from duecourse.client import Client
from infra.stages import STAGES
from tests.support.deployed import deploy, invoke
from tests.support.emulators import client, ministack
from tests.support.waiting import PATIENCE_SECONDS, awaited


@dataclass(frozen=True)
class Patient:
    """A deployed stack of its own, since it will be hurt."""

    endpoint: str
    outputs: dict[str, str]

    def aws(self, service: str) -> Any:
        return client(service, self.endpoint)

    def examined(self) -> tuple[int, dict[str, dict[str, Any]]]:
        """The command's exit code and its checks by name."""
        result = CliRunner(env={"AWS_ENDPOINT_URL": self.endpoint}).invoke(
            main, ["doctor", "--json"], catch_exceptions=False
        )
        return result.exit_code, {check["name"]: check for check in json.loads(result.stdout)["checks"]}

    def told(self) -> str:
        """What the command prints for people."""
        return CliRunner(env={"AWS_ENDPOINT_URL": self.endpoint}).invoke(main, ["doctor"]).stdout

    def api(self) -> Client:
        url = f"{self.endpoint}/_aws/execute-api/{self.outputs['ApiId']}"
        return Client(url, timeout=PATIENCE_SECONDS, trust_env=False)

    def tick(self) -> None:
        invoke(self.endpoint, self.outputs["TickFunction"])

    def rounds(self) -> None:
        """A round of dispatch in each shard, at once: a second tick of a minute would collapse in the queue."""
        queue = self.outputs["ShardQueueUrl"]
        for shard in range(STAGES["local"].shards):
            self.aws("sqs").send_message(
                QueueUrl=queue,
                MessageBody=json.dumps({"shard": shard, "minute": int(time.time()) // 60}),
                MessageGroupId=f"{shard:04d}",
                MessageDeduplicationId=uuid4().hex,
            )

    def item(self, partition: str, sort: str) -> dict[str, Any]:
        key = {"PK": {"S": partition}, "SK": {"S": sort}}
        table = self.outputs["JobsTable"]
        found: dict[str, Any] = self.aws("dynamodb").get_item(TableName=table, Key=key).get("Item", {})
        return found

    def write(self, partition: str, sort: str, **attributes: dict[str, str]) -> None:
        self.aws("dynamodb").update_item(
            TableName=self.outputs["JobsTable"],
            Key={"PK": {"S": partition}, "SK": {"S": sort}},
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in attributes),
            ExpressionAttributeNames={f"#{name}": name for name in attributes},
            ExpressionAttributeValues={f":{name}": value for name, value in attributes.items()},
        )


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patient]:
    """Up, and its clock has ticked."""
    folder = tmp_path_factory.mktemp("doctor")
    with ministack(folder) as endpoint:
        up = Patient(endpoint, deploy(endpoint))
        up.tick()
        awaited("both watermarks", lambda: all(up.item(f"SHARD#{n}", "WATERMARK") for n in (0, 1)))
        yield up


def test_doctor_healthy_stack_has_no_findings(patient: Patient) -> None:
    status, checks = patient.examined()
    assert {name: check["verdict"] for name, check in checks.items() if check["verdict"] != "ok"} == {}
    assert status == 0
    assert {"clock", "tick", "watermarks", "due index", "cursors", "lane high", "dead letters"} <= set(checks)
    assert {"rules", "archive", "alarms", "event sources"} <= set(checks)


def test_doctor_api_reports_the_same_results_for_the_checks_it_may_run(patient: Patient) -> None:
    with patient.api() as api:
        stage = api.get_stage()
    assert (stage.stage, stage.shards) == ("local", STAGES["local"].shards)
    assert {check.name: check.verdict for check in stage.checks if check.verdict != "ok"} == {}
    assert {check.name for check in stage.checks} <= set(patient.examined()[1])
    assert stage.alarms is not None
    assert (stage.alarms.count > 0, list(stage.alarms.ringing)) == (True, [])


def test_doctor_faults_are_reported_with_their_runbooks(patient: Patient) -> None:
    set_a_cursor_aside(patient)
    disable_the_tick(patient)
    disable_the_archive(patient)
    queue = patient.outputs["DeadLetterQueueUrl"]
    patient.aws("sqs").send_message(QueueUrl=queue, MessageBody="{}")
    status, checks = patient.examined()
    assert status == 1
    verdicts = {name: check["verdict"] for name, check in checks.items()}
    assert (verdicts["tick"], verdicts["event sources"]) == ("bad", "bad")  # a person must act now
    assert (verdicts["cursors"], verdicts["dead letters"]) == ("warning", "warning")
    assert "archive is Disabled" in checks["event sources"]["says"]
    assert "the rule that starts the tick once a minute is DISABLED" in checks["tick"]["says"]
    assert "default/broken: the cursor cannot be read" in checks["cursors"]["says"]
    assert "messages of dead runs, kept for at most 14 days: 1" in checks["dead letters"]["says"]
    assert checks["tick"]["runbook"] == "docs/runbooks.md#ticks-missing"
    assert checks["lane high"]["verdict"] == "ok"
    told = patient.told()
    assert "bad      tick             the rule that starts the tick once a minute is DISABLED" in told
    assert "see docs/runbooks.md#cursorsquarantined" in told
    assert "ok       lane high        0 visible" in told


def test_doctor_job_paused_with_its_error_is_not_a_finding(patient: Patient) -> None:
    with patient.api() as api:
        target = {"type": "http", "url": "http://127.0.0.1:9/nobody"}
        api.create_job({"id": "resting", "schedule": "0 0 1 1 *", "target": target})
        api.pause_job("resting")
    patient.write("JOB#default#resting", "CURSOR", error={"S": "no such zone"})
    says = patient.examined()[1]["cursors"]["says"]
    assert "default/broken" in says
    assert "default/resting" not in says


def test_doctor_missing_tick_is_detected_by_its_age(patient: Patient) -> None:
    """Its rule starts it, and it fails."""
    patient.aws("lambda").update_function_configuration(
        FunctionName=patient.outputs["TickFunction"], Environment={"Variables": {}}
    )
    patient.write("TICK", "LAST", at={"N": str(int(time.time()) - 900)})
    enable_the_tick(patient)
    _, checks = patient.examined()
    assert checks["tick"]["verdict"] == "bad"
    assert "the last tick ran 15 min ago" in checks["tick"]["says"]


def test_doctor_missing_stage_cannot_be_examined(patient: Patient) -> None:
    result = CliRunner(env=credentials(patient)).invoke(main, ["doctor", "--stage", "nowhere"])
    assert result.exit_code == 2
    assert "the stack Duecourse-nowhere cannot be read" in result.stderr


def credentials(patient: Patient) -> dict[str, str]:
    """For stages that are not the local one the caller's own are used."""
    return {
        "AWS_ENDPOINT_URL": patient.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def rules(patient: Patient) -> list[str]:
    function = patient.aws("lambda").get_function_configuration(FunctionName=patient.outputs["TickFunction"])
    names: list[str] = patient.aws("events").list_rule_names_by_target(TargetArn=function["FunctionArn"])["RuleNames"]
    return names


def disable_the_tick(patient: Patient) -> None:
    for name in rules(patient):
        patient.aws("events").disable_rule(Name=name)


def enable_the_tick(patient: Patient) -> None:
    for name in rules(patient):
        patient.aws("events").enable_rule(Name=name)


def disable_the_archive(patient: Patient) -> None:
    functions = patient.aws("lambda")
    name = patient.outputs["ArchiveFunction"]
    for each in functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=each["UUID"], Enabled=False)


def set_a_cursor_aside(patient: Patient) -> None:
    """A cursor is due and cannot be read, from one moment to the next; a round takes it out of the index."""
    with patient.api() as api:
        target = {"type": "http", "url": "http://127.0.0.1:9/nobody"}
        api.create_job({"id": "broken", "schedule": "rate(1 day)", "target": target})
    key, now = ("JOB#default#broken", "CURSOR"), datetime.now(UTC)
    shard = patient.item(*key)["slot"]["S"].partition("/")[2]
    slot = {"S": f"{now:%Y-%m-%dT%H}/{shard}"}
    patient.write(*key, rules={"S": "no rules"}, slot=slot, due={"N": f"{now.timestamp():.0f}"})
    patient.rounds()
    awaited("the cursor set aside", lambda: patient.item(*key).get("error"))
