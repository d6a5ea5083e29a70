"""The event source of the archive."""

from __future__ import annotations

from typing import Any

WORKING = frozenset({"Enabled", "Creating", "Enabling", "Updating"})

PROBLEM = "PROBLEM"
"""The prefix of the result of an event source whose last batch failed (AWS Lambda API Reference,
"EventSourceMappingConfiguration": LastProcessingResult).
"""


class LambdaEventSource:
    """Implementation of ports.EventSource for the event source with this id."""

    def __init__(self, client: Any, source: str) -> None:
        self._client = client
        self._source = source

    def problem(self) -> str | None:
        found = self._client.get_event_source_mapping(UUID=self._source)
        state, result = str(found.get("State", "")), str(found.get("LastProcessingResult", ""))
        if state not in WORKING:
            return (
                f"the event source is {state or 'missing'}: {found.get('StateTransitionReason', 'no reason is known')}"
            )
        return result if result.startswith(PROBLEM) else None
