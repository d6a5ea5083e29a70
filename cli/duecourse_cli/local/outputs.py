"""What the deployed stack says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from duecourse_cli.errors import CliError
from duecourse_cli.local.emulator.environment import STACK_NAME

LOCAL_API_PATH = "/_aws/execute-api/"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs that the local stack's helpers need."""

    api_url: str
    dead_letter_queue_url: str
    deaths_topic_arn: str
    alarms_topic_arn: str
    tick_function: str

    @classmethod
    def from_mapping(cls, found: Mapping[str, str]) -> Outputs:
        """Read them by the names they have in every stage."""
        try:
            return cls(
                api_url=found["ApiUrl"],
                dead_letter_queue_url=found["DeadLetterQueueUrl"],
                deaths_topic_arn=found["DeathsTopicArn"],
                alarms_topic_arn=found["AlarmsTopicArn"],
                tick_function=found["TickFunction"],
            )
        except KeyError as missing:
            raise CliError(f"the stack {STACK_NAME} has no output {missing.args[0]}") from missing

    def local_api(self, endpoint: str) -> str:
        """The API's address on this machine; MiniStack serves the default stage without naming it."""
        return f"{endpoint}{LOCAL_API_PATH}{api_id(self.api_url)}"


def api_id(url: str) -> str:
    """The id in `https://<id>.execute-api...` or `http://127.0.0.1:<port>/_aws/execute-api/<id>/...`."""
    parts = urlsplit(url)
    if LOCAL_API_PATH in parts.path:
        return parts.path.split(LOCAL_API_PATH, 1)[1].split("/", 1)[0]
    return (parts.hostname or "").split(".", 1)[0]
