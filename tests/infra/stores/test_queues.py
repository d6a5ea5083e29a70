"""The queues and who reads them."""

from __future__ import annotations

import re

import pytest

from duecourse.limits import ROUND_MARGIN_SECONDS, ROUND_SECONDS
from infra.stages import STAGES
from tests.infra.conftest import LANE_OUTPUTS, Stack
from tests.support.template import ROOT

DAY = 24 * 3600


def test_every_lane_redrives_to_the_dead_letter_queue_after_five_receives(stack: Stack) -> None:
    dead_letters = {"Fn::GetAtt": [stack.output("DeadLetterQueueUrl"), "Arn"]}
    for output in LANE_OUTPUTS:
        queue = stack.resource(stack.output(output))["Properties"]
        assert queue["RedrivePolicy"] == {"deadLetterTargetArn": dead_letters, "maxReceiveCount": 5}


def test_the_workers_know_the_receive_limit_of_their_lane(stack: Stack) -> None:
    for name in ("High", "Normal", "Low", "Long"):
        queue = stack.resource(stack.output(f"Lane{name}Url"))["Properties"]
        known = stack.environment(f"Execute{name}Function")["DUECOURSE_MAX_RECEIVE_COUNT"]
        assert known == str(queue["RedrivePolicy"]["maxReceiveCount"])


def test_lanes_and_dead_letters_keep_messages_for_fourteen_days(stack: Stack) -> None:
    for output in (*LANE_OUTPUTS, "DeadLetterQueueUrl"):
        assert stack.resource(stack.output(output))["Properties"]["MessageRetentionPeriod"] == 14 * DAY


def test_a_lanes_visibility_is_its_functions_timeout_plus_thirty_seconds(stack: Stack) -> None:
    consumers = stack.consumers()
    for output in LANE_OUTPUTS:
        queue = stack.output(output)
        function = stack.resource(stack.consumer(consumers[queue]))["Properties"]
        assert stack.resource(queue)["Properties"]["VisibilityTimeout"] == function["Timeout"] + 30


def test_short_lanes_run_for_two_minutes_and_the_long_one_for_fifteen(stack: Stack) -> None:
    timeouts = {name: function["Timeout"] for name, function in stack.functions().items() if "Execute" in name}
    assert timeouts == {"ExecuteHigh": 120, "ExecuteNormal": 120, "ExecuteLow": 120, "ExecuteLong": 900}


def test_every_lane_reports_partial_failures_and_has_a_concurrency_limit(stack: Stack) -> None:
    consumers = stack.consumers()
    for output in LANE_OUTPUTS:
        mapping = consumers[stack.output(output)]
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["ScalingConfig"]["MaximumConcurrency"] >= 2
        assert mapping["BatchSize"] == (1 if "Long" in output else 10)
        assert "MaximumBatchingWindowInSeconds" not in mapping


@pytest.mark.parametrize(("of", "known_as"), [("", "DUECOURSE_QUEUE_URL"), ("Bulk", "DUECOURSE_BULK_URL")])
def test_both_queues_of_a_lane_are_read_by_its_own_function(stack: Stack, of: str, known_as: str) -> None:
    consumers = stack.consumers()
    for name in ("High", "Normal", "Low", "Long"):
        lane = stack.output(f"Lane{name}{of}Url")
        assert stack.consumer(consumers[lane]) == stack.output(f"Execute{name}Function")
        assert stack.function(f"Execute{name}Function")["Environment"]["Variables"][known_as] == {"Ref": lane}


def test_four_tenants_leave_a_worker_of_a_lane_to_a_fifth_one(prod: Stack) -> None:
    known = prod.environment("ApiFunction")
    for name, lane in STAGES[prod.stage].lanes.items():
        assert 4 * int(known[f"DUECOURSE_SEAT_{name.upper()}"]) < lane.most_concurrent


def test_a_tenant_has_seats_for_a_third_of_a_lanes_workers_at_most_and_for_one_at_least(stack: Stack) -> None:
    known = stack.environment("ApiFunction")
    for name, lane in STAGES[stack.stage].lanes.items():
        seats = int(known[f"DUECOURSE_SEAT_{name.upper()}"])
        assert 1 <= seats <= max(lane.most_concurrent // 3, 1)


def test_the_shard_queue_is_a_short_lived_lock_per_shard(stack: Stack) -> None:
    queue = stack.resource(stack.output("ShardQueueUrl"))["Properties"]
    assert queue["FifoQueue"]
    assert not queue["ContentBasedDeduplication"]
    assert queue["MessageRetentionPeriod"] == 300
    assert "RedrivePolicy" not in queue


def test_a_round_ends_before_its_shard_is_given_to_another(stack: Stack) -> None:
    queue = stack.output("ShardQueueUrl")
    mapping = stack.consumers()[queue]
    assert stack.consumer(mapping) == stack.output("DispatchFunction")
    assert mapping["BatchSize"] == 1
    assert stack.function("DispatchFunction")["Timeout"] < stack.resource(queue)["Properties"]["VisibilityTimeout"]


def test_a_round_has_its_functions_time_less_what_the_handler_keeps(stack: Stack) -> None:
    assert stack.function("DispatchFunction")["Timeout"] - ROUND_MARGIN_SECONDS == ROUND_SECONDS


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("infra/settings/alarms_config.py", r"a round takes up to (\d+) s"),
        ("layers/duecourse/python/duecourse/cli/doctor/surroundings.py", r"A round takes up to (\d+) s"),
        ("docs/sizing.md", r"a round works (\d+) s of each minute"),
    ],
)
def test_the_length_of_a_round_is_told_as_it_is(file: str, told: str) -> None:
    assert re.findall(told, (ROOT / file).read_text()) == [str(ROUND_SECONDS)]
