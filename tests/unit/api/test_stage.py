"""The stage's checks and figures.

- GET /v1/stage: what the stage is, and the first look at it.
- GET /v1/stage/metrics: what CloudWatch keeps of the stage.
"""

from typing import Any

from duecourse.checks.facts import Alarm, Alarms, Lateness, Outcomes, StageFigures
from duecourse.checks.objectives import Objective
from duecourse.domain.jobs.job import Lane
from duecourse.ports import Depth
from duecourse.version import VERSION
from tests.support.api import Answered, api_settings, untouchable_client
from tests.support.api_events import jwt_caller
from tests.support.jobs import NOON
from tests.support.limits import FixedAlarms, FixedDepths, FixedMetrics, MemoryMark

QUIET = FixedAlarms(Alarms([], 40))
IDLE = FixedDepths(dict.fromkeys(Lane, Depth(0, 0, 0)))
TICKING = MemoryMark(at=NOON - 12, watermarks={0: "2199-01-01T00"})


def looked(**changes: Any) -> Answered:
    parts = {"alarms": QUIET, "depths": IDLE, "mark": TICKING, **changes}
    return untouchable_client(**parts).get("/v1/stage")


def verdicts(answer: Answered) -> dict[str, str]:
    return {check["name"]: check["verdict"] for check in answer.json["checks"]}


def test_stage_checks_of_a_healthy_stage_report_its_identity_and_no_problems() -> None:
    answer = looked()
    assert answer.status == 200
    said = answer.json
    assert (said["stage"], said["version"], said["region"], said["auth"]) == ("test", VERSION, "eu-central-1", "none")
    assert set(verdicts(answer).values()) == {"ok"}
    assert said["alarms"] == {"count": 40, "without_data": 0, "ringing": []}


def test_stage_checks_report_an_active_alarm_with_its_time_and_runbook() -> None:
    alarm = Alarm("targets-failing", "runs died", "docs/runbooks.md#targets-failing", "2026-11-21T09:55:00Z")
    answer = looked(alarms=FixedAlarms(Alarms([alarm], 40, 2)))
    (ringing,) = answer.json["alarms"]["ringing"]
    assert ringing == {
        "name": "targets-failing",
        "since": "2026-11-21T09:55:00Z",
        "description": "runs died",
        "runbook": "docs/runbooks.md#targets-failing",
    }
    assert verdicts(answer)["alarms"] == "bad"


def test_stage_checks_that_aws_denies_are_unknown_and_do_not_hide_others() -> None:
    depths = FixedDepths({**IDLE.known, Lane.HIGH: None})
    answer = looked(alarms=FixedAlarms("AccessDenied: not authorized to DescribeAlarms"), depths=depths)
    assert answer.status == 200
    assert answer.json["alarms"] is None
    found = {check["name"]: check for check in answer.json["checks"]}
    assert (found["alarms"]["verdict"], found["lane high"]["verdict"]) == ("unknown", "unknown")
    assert "AccessDenied" in found["alarms"]["says"]
    assert found["tick"]["verdict"] == found["lane low"]["verdict"] == "ok"


def test_stage_checks_report_a_stopped_clock_as_bad_and_a_new_stage_as_ok() -> None:
    assert verdicts(looked(mark=MemoryMark(NOON - 600, {0: None})))["tick"] == "bad"
    young = verdicts(looked(mark=MemoryMark()))
    assert (young["tick"], young["shards"], young["watermarks"]) == ("ok", "ok", "ok")


def test_stage_checks_require_the_ops_scope() -> None:
    def asks(*scopes: str) -> int:
        return looked(caller=jwt_caller("acme", *scopes), settings=api_settings(auth="jwt")).status

    assert (asks("jobs:read", "jobs:write"), asks("ops")) == (403, 200)


def test_stage_checks_have_no_parameters() -> None:
    answer = untouchable_client().get("/v1/stage", verbose="yes")
    assert (answer.status, answer.errors) == (400, {"verbose": "is not known; this route has no parameters"})


HALF_PAST = 1_795_260_600.0
KNOWN = StageFigures(
    since=1_795_176_000,
    lateness=[Lateness(HALF_PAST, 0.41234, 2.5)],
    outcomes=[Outcomes(HALF_PAST, succeeded=40, retried=3, dead=1)],
    oldest={"high": 3.0, "normal": None, "low": None, "long": None},
    objectives=[Objective("lateness", 0.99, 0.995), Objective("availability", 0.999, None)],
)


def read(known: StageFigures | str = KNOWN, **changes: Any) -> Answered:
    return untouchable_client(metrics=FixedMetrics(known), **changes).get("/v1/stage/metrics")


def test_stage_metrics_have_times_in_utc_and_durations_in_seconds() -> None:
    answer = read()
    assert answer.status == 200
    assert answer.json == {
        "figures": {
            "since": "2026-11-20T12:00:00Z",
            "step_seconds": 1800,
            "lateness": [{"at": "2026-11-21T11:30:00Z", "median_seconds": 0.412, "p99_seconds": 2.5}],
            "outcomes": [{"at": "2026-11-21T11:30:00Z", "succeeded": 40, "retried": 3, "dead": 1}],
            "oldest_message_seconds": {"high": 3.0, "normal": None, "low": None, "long": None},
            "objectives": [
                {"name": "lateness", "target": 0.99, "share": 0.995, "budget_used": 0.5},
                {"name": "availability", "target": 0.999, "share": None, "budget_used": None},
            ],
        },
        "error": None,
    }


def test_stage_metrics_that_cannot_be_read_are_null_with_the_reason() -> None:
    answer = read("AccessDenied: not authorized to GetMetricData")
    assert (answer.status, answer.json["figures"]) == (200, None)
    expected = "CloudWatch's metrics could not be read: AccessDenied: not authorized to GetMetricData"
    assert answer.json["error"] == expected


def test_stage_metrics_require_the_ops_scope() -> None:
    def asks(*scopes: str) -> int:
        return read(caller=jwt_caller("acme", *scopes), settings=api_settings(auth="jwt")).status

    assert (asks("jobs:read", "jobs:write"), asks("ops")) == (403, 200)


def test_stage_metrics_have_no_parameters() -> None:
    answer = untouchable_client().get("/v1/stage/metrics", since="yesterday")
    assert (answer.status, answer.errors) == (400, {"since": "is not known; this route has no parameters"})
