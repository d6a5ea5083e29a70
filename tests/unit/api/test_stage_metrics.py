"""GET /v1/stage/metrics: what CloudWatch keeps of the stage."""

from __future__ import annotations

from typing import Any

from duecourse.checks.facts import Lateness, Outcomes, StageFigures
from tests.support.api import Answered, api_settings, untouchable_client
from tests.support.api_events import jwt_caller
from tests.support.limits import FixedMetrics

HALF_PAST = 1_795_260_600.0
KNOWN = StageFigures(
    since=1_795_176_000,
    lateness=[Lateness(HALF_PAST, 0.41234, 2.5)],
    outcomes=[Outcomes(HALF_PAST, succeeded=40, retried=3, dead=1)],
    oldest={"high": 3.0, "normal": None, "low": None, "long": None},
)


def read(known: StageFigures | str = KNOWN, **changes: Any) -> Answered:
    return untouchable_client(metrics=FixedMetrics(known), **changes).get("/v1/stage/metrics")


def test_figures_have_their_times_in_utc_and_durations_in_seconds() -> None:
    answer = read()
    assert answer.status == 200
    assert answer.json == {
        "figures": {
            "since": "2026-11-20T12:00:00Z",
            "step_seconds": 1800,
            "lateness": [{"at": "2026-11-21T11:30:00Z", "median_seconds": 0.412, "p99_seconds": 2.5}],
            "outcomes": [{"at": "2026-11-21T11:30:00Z", "succeeded": 40, "retried": 3, "dead": 1}],
            "oldest_message_seconds": {"high": 3.0, "normal": None, "low": None, "long": None},
        },
        "error": None,
    }


def test_what_cannot_be_read_is_null_with_the_reason() -> None:
    answer = read("AccessDenied: not authorized to GetMetricData")
    assert (answer.status, answer.json["figures"]) == (200, None)
    expected = "CloudWatch's metrics could not be read: AccessDenied: not authorized to GetMetricData"
    assert answer.json["error"] == expected


def test_only_callers_with_the_scope_ops_may_read_them() -> None:
    def asks(*scopes: str) -> int:
        return read(caller=jwt_caller("acme", *scopes), settings=api_settings(auth="jwt")).status

    assert (asks("jobs:read", "jobs:write"), asks("ops")) == (403, 200)


def test_there_are_no_parameters() -> None:
    answer = untouchable_client().get("/v1/stage/metrics", since="yesterday")
    assert (answer.status, answer.errors) == (400, {"since": "is not known here; there are no parameters"})
