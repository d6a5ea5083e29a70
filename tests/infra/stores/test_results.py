"""The bucket of results and the event bus."""

from __future__ import annotations

from typing import Any

from tests.infra.conftest import Stack


def bucket(stack: Stack) -> dict[str, Any]:
    return stack.resource(stack.output("ResultsBucket"))


def test_results_outlive_the_records_that_name_them_by_a_month(stack: Stack) -> None:
    rules = bucket(stack)["Properties"]["LifecycleConfiguration"]["Rules"]
    (expiry,) = [rule for rule in rules if "ExpirationInDays" in rule]
    kept = int(stack.environment("ExecuteLongFunction")["DUECOURSE_RUN_RETENTION_DAYS"])
    assert (expiry["Prefix"], expiry["ExpirationInDays"]) == ("results/", kept + 30)
    (broken,) = [rule for rule in rules if "AbortIncompleteMultipartUpload" in rule]
    assert broken["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}


def test_nothing_in_the_stack_needs_a_helper_function_to_be_deployed_or_deleted(stack: Stack) -> None:
    assert not [each for each in stack.template["Resources"].values() if each["Type"].startswith("Custom::")]


def test_events_go_to_a_bus_of_their_own(stack: Stack) -> None:
    ((name, bus),) = stack.resources("AWS::Events::EventBus").items()
    assert name == stack.output("BusName")
    assert bus["Name"].startswith("Duecourse")
