"""EventBridge buses as targets, on moto: an archive keeps what was accepted."""

from __future__ import annotations

from functools import partial

import orjson
import pytest

from duecourse.adapters.targets.aws.message_targets import EventBusCaller
from duecourse.domain.targets.targets import EventBridgeTarget, Failed, Returned
from tests.support.aws_targets import Service
from tests.support.calls import a_call

TARGET = EventBridgeTarget("duecourse-target-bus", "acme.billing", "Invoice Due")


def test_the_bus_accepts_the_event_and_its_id_is_kept(mocked, clock):
    events = mocked.get("events")
    arn = events.create_event_bus(Name=TARGET.bus)["EventBusArn"]
    events.create_archive(ArchiveName="all", EventSourceArn=arn)
    outcome = EventBusCaller(clock, partial(mocked.calling, "events")).call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Returned)
    assert outcome.result["event_id"]
    assert events.describe_archive(ArchiveName="all")["EventCount"] == 1


def test_the_detail_is_the_run(clock):
    service = Service({"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]})
    outcome = EventBusCaller(clock, service.client_for).call(a_call(TARGET, payload={"n": 1}), TARGET)
    assert outcome == Returned({"event_id": "e-1"})
    (entry,) = service.asked[0]["Entries"]
    detail = orjson.loads(entry.pop("Detail"))
    assert (detail["run_id"], detail["payload"]) == ("nightly.20261121T064700Z", {"n": 1})
    assert entry == {"EventBusName": "duecourse-target-bus", "Source": "acme.billing", "DetailType": "Invoice Due"}


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("InternalFailure", True),
        ("InternalException", True),
        ("ThrottlingException", True),
        ("MalformedDetail", False),
        ("NotAuthorizedForSource", False),
    ],
)
def test_an_entry_that_is_refused_fails_although_the_request_succeeds(clock, code, retryable):
    entry = {"ErrorCode": code, "ErrorMessage": "because"}
    service = Service({"FailedEntryCount": 1, "Entries": [entry]})
    outcome = EventBusCaller(clock, service.client_for).call(a_call(TARGET), TARGET)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.retryable, outcome.detail) == (code, retryable, "because")
    assert "because" not in outcome.error
