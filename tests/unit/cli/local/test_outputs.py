"""The outputs of the stack, and the API's address on this machine."""

from __future__ import annotations

import pytest

from duecourse.cli.local.deployment import Outputs, api_id
from duecourse.cli.terminal import CliError

FOUND = {
    "ApiUrl": "https://7dbf4306.execute-api.us-east-1.amazonaws.com/",
    "DeadLetterQueueUrl": "http://127.0.0.1:4599/000000000000/dead",
    "DeathsTopicArn": "arn:aws:sns:us-east-1:000000000000:deaths",
    "AlarmsTopicArn": "arn:aws:sns:us-east-1:000000000000:alarms",
    "TickFunction": "tick",
}


@pytest.mark.parametrize(
    "url",
    [
        "https://7dbf4306.execute-api.us-east-1.amazonaws.com/",
        "http://7dbf4306.execute-api.localhost:4599",
        "http://127.0.0.1:4599/_aws/execute-api/7dbf4306/$default",
    ],
)
def test_the_id_of_the_api_is_found_in_any_address(url: str) -> None:
    assert api_id(url) == "7dbf4306"


def test_the_api_is_reached_through_the_emulators_port() -> None:
    found = Outputs.from_mapping(FOUND)

    assert found.local_api("http://127.0.0.1:4599") == "http://127.0.0.1:4599/_aws/execute-api/7dbf4306"
    assert found.dead_letter_queue_url.endswith("/dead")


def test_a_missing_output_is_named() -> None:
    with pytest.raises(CliError, match="has no output TickFunction"):
        Outputs.from_mapping({name: value for name, value in FOUND.items() if name != "TickFunction"})
