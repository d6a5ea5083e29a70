"""`duecourse failover` on two regions of MiniStack, whose tables are not replicated: the test copies the items."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from duecourse.checks.standby import FENCE_KEY, HANDOVER_SECONDS, Fence
from duecourse.cli.local.emulator import aws
from duecourse.cli.main import main

HOME, OTHER = "us-east-1", "eu-central-1"
STACK = "Duecourse-local"
TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in ("PK", "SK")],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    },
}


def template(fence: str | None) -> str:
    """A stack with what a failover reads: the tables, the tick's setting, and the regions."""
    variables = {} if fence is None else {"DUECOURSE_FENCE": fence}
    tick = {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Handler": "index.handler",
            "Runtime": "python3.12",
            "Role": "arn:aws:iam::000000000000:role/tick",
            "Code": {"ZipFile": "def handler(event, context): return {}"},
            "Environment": {"Variables": variables},
        },
    }
    outputs = {"JobsTable": {"Ref": "Jobs"}, "RunsTable": {"Ref": "Runs"}, "TickFunction": {"Ref": "Tick"}}
    if fence is not None:
        outputs["Regions"] = f"{HOME} {OTHER}"  # type: ignore[assignment]
    made = {
        "Resources": {"Jobs": TABLE, "Runs": TABLE, "Tick": tick},
        "Outputs": {name: {"Value": value} for name, value in outputs.items()},
    }
    return json.dumps(made)


class Regions:
    """The stage `local` in two regions of an emulator."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def deploy(self, region: str, fence: str | None) -> None:
        clouds = aws.client(self.endpoint, "cloudformation", region)
        clouds.create_stack(StackName=STACK, TemplateBody=template(fence))
        clouds.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})

    def delete(self) -> None:
        for region in (HOME, OTHER):
            clouds = aws.client(self.endpoint, "cloudformation", region)
            clouds.delete_stack(StackName=STACK)
            clouds.get_waiter("stack_delete_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})

    def table(self, region: str) -> str:
        (stack,) = aws.client(self.endpoint, "cloudformation", region).describe_stacks(StackName=STACK)["Stacks"]
        found: str = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}["JobsTable"]
        return found

    def fence(self, region: str) -> Fence | None:
        database = aws.client(self.endpoint, "dynamodb", region)
        item = database.get_item(TableName=self.table(region), Key=dict(FENCE_KEY)).get("Item")
        return None if item is None else Fence.of(item)

    def write(self, region: str, fence: Fence) -> None:
        """What replication, or another operator, writes."""
        aws.client(self.endpoint, "dynamodb", region).put_item(TableName=self.table(region), Item=fence.item())

    def failover(self, *arguments: str, given: str | None = None) -> Result:
        environment = {"AWS_ENDPOINT_URL": self.endpoint}
        return CliRunner().invoke(
            main, ["failover", "--stage", "local", "--no-wait", *arguments], input=given, env=environment
        )


@pytest.fixture
def regions(ministack: str) -> Iterator[Regions]:
    made = Regions(ministack)
    for region in (HOME, OTHER):
        made.deploy(region, region)
    yield made
    made.delete()


def test_failover_writes_the_first_fence_in_both_regions(regions: Regions) -> None:
    done = regions.failover("--to", HOME, "--yes")
    assert done.exit_code == 0, done.output
    assert regions.fence(HOME) == regions.fence(OTHER)
    assert regions.fence(HOME) is not None
    assert "there is no fence yet" in done.stderr


def test_failover_moves_the_fence_and_moves_it_back(regions: Regions) -> None:
    first = Fence(HOME, 1, 0.0)
    for region in (HOME, OTHER):
        regions.write(region, first)
    done = regions.failover("--to", OTHER, "--yes", "-o", "json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["region"], document["epoch"], document["written"]) == (OTHER, 2, [HOME, OTHER])
    there = regions.fence(OTHER)
    assert regions.fence(HOME) == there
    assert there is not None
    assert there.region == OTHER
    assert regions.failover("--to", HOME, "--yes").exit_code == 0
    back = regions.fence(OTHER)
    assert back is not None
    assert (back.region, back.epoch) == (HOME, 3)
    assert back.works_from >= there.works_from > HANDOVER_SECONDS


def test_failover_shows_a_plan_and_writes_nothing_without_a_confirmation(regions: Regions) -> None:
    for region in (HOME, OTHER):
        regions.write(region, Fence(HOME, 1, 0.0))
    done = regions.failover("--to", OTHER, given="n\n")
    assert done.exit_code == 1
    assert f"The fence of epoch 2 for {OTHER} will be written in {HOME}, then {OTHER}." in done.stderr
    assert regions.fence(HOME) == regions.fence(OTHER) == Fence(HOME, 1, 0.0)


def test_failover_to_the_working_region_changes_nothing(regions: Regions) -> None:
    for region in (HOME, OTHER):
        regions.write(region, Fence(HOME, 1, 0.0))
    done = regions.failover("--to", HOME, "--yes", "-o", "json")
    assert json.loads(done.stdout)["written"] == []
    assert "works already" in done.stderr


def test_failover_alone_writes_only_the_target(regions: Regions) -> None:
    for region in (HOME, OTHER):
        regions.write(region, Fence(HOME, 1, 0.0))
    done = regions.failover("--to", OTHER, "--alone", "--yes")
    assert done.exit_code == 0, done.output
    assert regions.fence(HOME) == Fence(HOME, 1, 0.0)
    there = regions.fence(OTHER)
    assert there is not None
    assert (there.region, there.epoch) == (OTHER, 2)
    assert "both regions start runs" in done.stderr


def test_failover_without_the_other_region_is_refused_with_the_remedy(regions: Regions) -> None:
    clouds = aws.client(regions.endpoint, "cloudformation", HOME)
    regions.write(OTHER, Fence(HOME, 1, 0.0))
    clouds.delete_stack(StackName=STACK)
    clouds.get_waiter("stack_delete_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1})
    done = regions.failover("--to", OTHER, "--yes")
    assert done.exit_code == 1
    assert f"{HOME} cannot be reached" in done.stderr
    assert "--alone" in done.stderr
    assert regions.fence(OTHER) == Fence(HOME, 1, 0.0)


def test_failover_that_was_interrupted_is_completed_by_repeating_it(regions: Regions) -> None:
    written = Fence(OTHER, 2, 12.0)
    regions.write(HOME, written)
    regions.write(OTHER, Fence(HOME, 1, 0.0))
    done = regions.failover("--to", OTHER, "--yes", "-o", "json")
    assert json.loads(done.stdout)["written"] == [OTHER]
    assert regions.fence(OTHER) == written


def test_failover_to_a_region_whose_functions_do_not_read_the_fence_is_refused(ministack: str) -> None:
    made = Regions(ministack)
    made.deploy(HOME, HOME)
    made.deploy(OTHER, HOME)  # deployed with the settings of another region
    try:
        for region in (HOME, OTHER):
            made.write(region, Fence(HOME, 1, 0.0))
        done = made.failover("--to", OTHER, "--yes")
        assert done.exit_code == 1
        assert f"the functions in {OTHER} do not read the fence" in done.stderr
        assert made.fence(HOME) == Fence(HOME, 1, 0.0)
    finally:
        made.delete()


def test_failover_of_a_stage_without_a_standby_is_refused(ministack: str) -> None:
    made = Regions(ministack)
    for region in (HOME, OTHER):
        made.deploy(region, None)
    try:
        done = made.failover("--to", HOME, "--yes")
        assert done.exit_code == 2
        assert "deploy it with the setting standby" in done.stderr
        # The first fence is written before the functions read it, so that a running stage does not stop.
        assert made.failover("--to", HOME, "--alone", "--yes").exit_code == 0
        assert made.fence(HOME) is not None
    finally:
        made.delete()


def test_failover_writes_a_fence_only_if_it_is_unchanged(regions: Regions) -> None:
    from duecourse.cli.doctor.stage import find_stage
    from duecourse.cli.failover import FencedRegion, MovedError

    def clients(service: str) -> Any:
        return aws.client(regions.endpoint, service, HOME)

    here = FencedRegion(HOME, find_stage("local", clients))
    regions.write(HOME, Fence(HOME, 1, 0.0))
    with pytest.raises(MovedError):
        here.write(Fence(OTHER, 2, 1.0), None)
    with pytest.raises(MovedError):
        here.write(Fence(OTHER, 3, 1.0), Fence(HOME, 2, 0.0))
    here.write(Fence(OTHER, 2, 1.0), Fence(HOME, 1, 0.0))
    here.write(Fence(OTHER, 2, 1.0), Fence(HOME, 1, 0.0))  # as after a lost response
    assert regions.fence(HOME) == Fence(OTHER, 2, 1.0)
