"""Outbound events over EventBridge."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import orjson

from duecourse.limits import EVENTS_SOURCE
from duecourse.ports import AwsError, OutboundEvent

_ENTRIES = 10
"""Maximum number of entries of one PutEvents request."""

_logger = logging.getLogger(__name__)


class EventBridgeBus:
    """Puts outbound events on the bus of the stage, with source `duecourse`. The log has the reasons of rejections."""

    def __init__(self, client: Any, bus_name: str) -> None:
        self._client = client
        self._bus_name = bus_name

    def publish(self, events: Sequence[OutboundEvent]) -> int:
        rest = iter(events)
        refused = 0
        while page := list(islice(rest, _ENTRIES)):
            refused += self._put(page)
        return refused

    def _put(self, page: Sequence[OutboundEvent]) -> int:
        try:
            answer = self._client.put_events(Entries=[self._entry(event) for event in page])
        except AwsError as problem:
            facts = {"action": "events_not_accepted", "events": len(page), "error": str(problem)}
            _logger.warning("events_not_accepted", extra=facts)
            return len(page)
        refused = 0
        for event, entry in zip(page, answer["Entries"], strict=True):
            if code := entry.get("ErrorCode"):
                refused += 1
                _logger.warning(
                    "event_not_accepted",
                    extra={
                        "action": "event_not_accepted",
                        "detail_type": event.detail_type,
                        "event": event.detail.get("event"),
                        "error": f"{code}: {entry.get('ErrorMessage')}",
                    },
                )
        return refused

    def _entry(self, event: OutboundEvent) -> dict[str, Any]:
        return {
            "EventBusName": self._bus_name,
            "Source": EVENTS_SOURCE,
            "DetailType": event.detail_type,
            "Detail": orjson.dumps(event.detail).decode(),
            "Time": datetime.fromtimestamp(event.at, UTC),
        }
