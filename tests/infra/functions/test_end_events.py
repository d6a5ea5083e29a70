"""The rules that report the ends of executions: one for each service that jobs can call, to the queue of callbacks."""

from typing import Any

import pytest

from duecourse.domain.targets.executions import END_EVENTS, NAME_PREFIX, STARTS
from duecourse.domain.targets.targets import ExecutionService
from infra.queues.end_events import followed_services
from infra.settings.targets_config import AllowedTargetsConfig
from tests.infra.conftest import Stack


def rules(stack: Stack) -> dict[str, dict[str, Any]]:
    """The rules of the default bus that filter events, by the source of their events."""
    found = [each for each in stack.resources("AWS::Events::Rule").values() if "EventPattern" in each]
    return {each["EventPattern"]["source"][0]: each for each in found}


def test_end_events_of_each_service_that_jobs_can_call_go_to_the_queue_of_callbacks(stack: Stack) -> None:
    queue = stack.output("LaneCallbacksUrl")
    found = rules(stack)
    assert set(found) == {"aws.states", "aws.ecs", "aws.lambda"}
    for rule in found.values():
        (target,) = rule["Targets"]
        assert target["Arn"] == {"Fn::GetAtt": [queue, "Arn"]}
        assert "EventBusName" not in rule


def test_end_events_are_filtered_by_end_and_name_of_the_execution(stack: Stack) -> None:
    filters = {source: rule["EventPattern"]["detail"] for source, rule in rules(stack).items()}
    assert filters["aws.states"] == {
        "status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"],
        "name": [{"prefix": NAME_PREFIX}],
    }
    assert filters["aws.ecs"] == {"lastStatus": ["STOPPED"], "startedBy": [{"prefix": NAME_PREFIX}]}
    assert filters["aws.lambda"]["durableExecutionName"] == [{"prefix": NAME_PREFIX}]


def test_end_events_only_rules_of_the_stack_may_send_to_the_queue(stack: Stack) -> None:
    queue = {"Ref": stack.output("LaneCallbacksUrl")}
    policies = [each for each in stack.resources("AWS::SQS::QueuePolicy").values() if queue in each["Queues"]]
    allowed = [
        each for policy in policies for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"
    ]
    (statement,) = allowed
    arns = statement["Condition"]["ArnEquals"]["aws:SourceArn"]
    senders = {each["Fn::GetAtt"][0] for each in arns}
    names = {name for name, each in stack.resources("AWS::Events::Rule").items() if "EventPattern" in each}
    assert (statement["Action"], senders) == ("sqs:SendMessage", names)


@pytest.mark.parametrize("action", STARTS)
def test_end_events_of_aws_calls_are_reported_if_the_stage_allows_the_call(action: str) -> None:
    allowed = AllowedTargetsConfig(actions=(action,), roles=("duecourse-target-*",))
    service, _ = STARTS[action]
    assert service in set(followed_services(allowed))
    assert action.partition(":")[0] == END_EVENTS[service].source.removeprefix("aws.")


def test_end_events_have_no_rule_if_jobs_can_call_nothing_of_a_service() -> None:
    nothing = AllowedTargetsConfig(functions=(), machines=(), clusters=())
    assert list(followed_services(nothing)) == []
    assert {*ExecutionService} == {*END_EVENTS}
