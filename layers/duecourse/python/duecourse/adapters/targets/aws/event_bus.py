"""EventBridge buses as targets."""

from __future__ import annotations

from functools import partial

from duecourse.adapters.targets.aws.aws_errors import ClientFor, handed_over, refusal, wait_of
from duecourse.adapters.targets.aws.message_format import message_text
from duecourse.adapters.targets.http.deadline import Deadline
from duecourse.domain.targets.targets import EventBridgeTarget, Outcome, Succeeded
from duecourse.ports import Call, Clock


class EventBusCaller:
    """Puts the event on buses of the stage's own account and region. Safe to share between threads."""

    def __init__(self, clock: Clock, client_for: ClientFor) -> None:
        self._clock = clock
        self._client_for = client_for

    def call(self, call: Call, target: EventBridgeTarget) -> Outcome:
        """An event that the bus has accepted succeeds, whoever listens; the result names it."""
        name = f"bus {target.bus}"
        return handed_over(name, call, self._clock, partial(self._put, name, call, target))

    def _put(self, name: str, call: Call, target: EventBridgeTarget, deadline: Deadline) -> Outcome:
        entry = {
            "EventBusName": target.bus,
            "Source": target.source,
            "DetailType": target.detail_type,
            "Detail": message_text(call),
        }
        answer = self._client_for(wait_of(deadline)).put_events(Entries=[entry])
        (accepted,) = answer["Entries"]
        if answer.get("FailedEntryCount"):  # the request succeeds all the same
            return refusal(name, accepted.get("ErrorCode"), accepted.get("ErrorMessage"))
        return Succeeded({"event_id": accepted["EventId"]})
