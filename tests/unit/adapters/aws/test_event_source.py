"""The event source of the archive delivers, or says why not."""

from typing import Any

import pytest

from duecourse.adapters.aws.event_source import LambdaEventSource


class Client:
    """boto3's client of Lambda."""

    def __init__(self, **found: str) -> None:
        self.found = found

    def get_event_source_mapping(self, **asked: Any) -> dict[str, str]:
        assert asked == {"UUID": "91ea"}
        return self.found


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({"State": "Enabled", "LastProcessingResult": "OK"}, None),
        ({"State": "Enabled", "LastProcessingResult": "No records processed"}, None),
        ({"State": "Updating"}, None),
        ({"State": "Disabled", "StateTransitionReason": "User action"}, "the event source is Disabled: User action"),
        (
            {"State": "Enabled", "LastProcessingResult": "PROBLEM: Function call failed"},
            "PROBLEM: Function call failed",
        ),
    ],
)
def test_event_source_has_a_problem_if_it_is_disabled_or_its_last_batch_failed(
    found: dict[str, str], problem: str | None
) -> None:
    assert LambdaEventSource(Client(**found), "91ea").problem() == problem
