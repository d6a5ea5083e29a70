"""GET /v1/stats shows the capacity for peaks to operators of stages that have it."""

from dataclasses import replace
from typing import Any

from duecourse.domain.maintenance.peaks import Peak, PrescalePlan, Raised
from duecourse.testing.stores import MemoryStores
from tests.support.api import ApiClient, api_settings
from tests.support.api_events import jwt_caller
from tests.support.jobs import NOON

PLAN = PrescalePlan(
    peaks=(
        Peak(int(NOON) // 60, 90_000, 90_000, {"low": 1.0}),
        Peak(int(NOON) // 60 + 5, 500_000, 400_000, {"normal bulk": 1.0}, at_least=True),
    ),
    raised={"normal bulk": Raised(200, int(NOON) + 480)},
)


def client(**settings: Any) -> ApiClient:
    """An API with a plan, one minute past noon."""
    api = ApiClient.over(MemoryStores(), settings=api_settings(**settings))
    planned = PLAN.charged(NOON - 300, "warm throughput", 1.0).charged(NOON - 60, "200 pollers", 0.5)
    assert api.prescale.put(planned) is not None
    api.clock.advance(60)
    return api


def test_prescale_stats_show_plan_cost_and_history_newest_first() -> None:
    assert client(prescale_dollars=15.0).get("/v1/stats").json["prescale"] == {
        "dollars_per_day": 15.0,
        "spent_today": 1.5,
        "peaks": [{"at": "2026-11-21T12:05:00Z", "runs": 500_000, "at_least": True}],
        "queues": [{"queue": "normal bulk", "pollers": 200, "until": "2026-11-21T12:08:00Z"}],
        "history": [
            {"at": "2026-11-21T11:59:00Z", "says": "200 pollers", "dollars": 0.5},
            {"at": "2026-11-21T11:55:00Z", "says": "warm throughput", "dollars": 1.0},
        ],
    }


def test_prescale_stats_of_another_day_have_no_cost_yet() -> None:
    api = client(prescale_dollars=15.0)
    api.clock.advance(86_400)
    assert api.get("/v1/stats").json["prescale"]["spent_today"] == 0


def test_prescale_stats_are_not_read_without_the_setting_and_for_others_than_operators() -> None:
    def unreadable(**settings: Any) -> ApiClient:
        api = client(**settings)
        return replace(api, prescale=None)  # type: ignore[arg-type]

    assert "prescale" not in unreadable().get("/v1/stats").json
    of_tenant = unreadable(prescale_dollars=15.0, auth="jwt")
    of_tenant.caller = jwt_caller("default", "jobs:read")
    assert "prescale" not in of_tenant.get("/v1/stats").json
