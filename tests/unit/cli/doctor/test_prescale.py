"""The doctor shows the plan, the cost and the history of capacity for peaks."""

import json
from typing import Any

from duecourse.checks.check import CheckStatus
from duecourse.cli.doctor import prescale
from duecourse.cli.doctor.examine import examinations
from duecourse.cli.doctor.facts import Skew
from duecourse.cli.doctor.stage import Stage

MIDNIGHT = 1_795_305_600
"""2026-11-22T00:00:00Z"""

PLAN: dict[str, Any] = {
    "version": 7,
    "peaks": [
        {"minute": MIDNIGHT // 60, "runs": 500_000, "busiest": 400_000, "shares": {"low": 1.0}, "at_least": True},
        {"minute": MIDNIGHT // 60 - 20, "runs": 90_000, "busiest": 90_000, "shares": {"low": 1.0}, "at_least": False},
    ],
    "raised": {"normal bulk": {"pollers": 200, "paid_until": MIDNIGHT + 180}},
    "asked": {},
    "day": "2026-11-21",
    "spent": 1.5,
    "refused_until": 0,
    "history": [
        {"at": MIDNIGHT - 1_800, "says": "warm throughput: runs.writes 38,000", "dollars": 1.0},
        {"at": MIDNIGHT - 600, "says": "normal bulk: 200 pollers until 2026-11-22T00:03:00Z", "dollars": 0.5},
    ],
}


class Dynamo:
    """A jobs table with the plan, or without it."""

    def __init__(self, plan: dict[str, Any] | None) -> None:
        self.plan = plan

    def get_item(self, **asked: Any) -> dict[str, Any]:
        assert asked["Key"] == {"PK": {"S": "PRESCALE"}, "SK": {"S": "PLAN"}}
        return {} if self.plan is None else {"Item": {"plan": {"S": json.dumps(self.plan)}}}


def stage(plan: dict[str, Any] | None = None, now: float = MIDNIGHT - 300, **outputs: str) -> Stage:
    return Stage("prod", {"JobsTable": "jobs", **outputs}, 1e6, now, Skew(0.0), lambda _: Dynamo(plan))


def shown(plan: dict[str, Any] | None, now: float = MIDNIGHT - 300) -> Any:
    return prescale.judge(prescale.plan(stage(plan, now, PrescaleDollars="15")))


def test_doctor_prescale_shows_peaks_pollers_cost_and_the_last_decisions() -> None:
    check = shown(PLAN)
    assert check.verdict is CheckStatus.OK
    assert check.says == (
        "peaks of the next 30 minutes: at least 500,000 runs at 2026-11-22T00:00:00Z; "
        "pollers: normal bulk 200 until 2026-11-22T00:03:00Z; $1.50 of $15 are used today; last decisions: "
        "2026-11-21T23:50:00Z normal bulk: 200 pollers until 2026-11-22T00:03:00Z ($0.50); "
        "2026-11-21T23:30:00Z warm throughput: runs.writes 38,000 ($1.00)"
    )


def test_doctor_prescale_shows_a_stage_without_a_plan() -> None:
    assert shown(None).says == "peaks of the next 30 minutes: none; $0.00 of $15 are used today"


def test_doctor_prescale_warns_of_pollers_that_were_not_removed() -> None:
    assert shown(PLAN, MIDNIGHT + 180 + prescale.REMOVED_SECONDS).verdict is CheckStatus.OK
    late = shown(PLAN, MIDNIGHT + 181 + prescale.REMOVED_SECONDS)
    assert late.verdict is CheckStatus.WARNING
    assert late.says.startswith("pollers that should be removed still cost money: normal bulk; ")
    assert late.runbook == "docs/runbooks.md#prescalesfailed"
    assert "$0.00 of $15" in late.says


def test_doctor_prescale_is_checked_only_in_stages_with_the_setting() -> None:
    assert "prescale" not in [each.name for each in examinations(stage())]
    assert "prescale" in [each.name for each in examinations(stage(PrescaleDollars="15"))]
