"""When a stage raises its capacity before many runs are due, and when it lowers it again."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from duecourse.domain.maintenance.peaks import (
    KEPT_SECONDS,
    LEAD_SECONDS,
    MINUTE,
    Peak,
    PrescalePlan,
    PrescaleRules,
    QueueRules,
    Raised,
    Throughput,
    busiest,
    may_be_peak,
    minutes_to_count,
    rules_of,
    wanted_pollers,
    with_counted,
)
from duecourse.domain.maintenance.prescale import (
    PrescaleDecision,
    RemovePollers,
    SetPollers,
    WarmUp,
    decide,
    refused,
    removed,
)
from duecourse.limits import OWN_READS, OWN_WRITES

MIDNIGHT = 1_795_305_600
"""2026-11-22T00:00:00Z"""

BULK = "normal bulk"
RULES = PrescaleRules(
    dollars_per_day=1_000,
    table_quota=200_000,
    spare=10_000,
    list_successes=True,
    runs_table="runs",
    queues={
        "normal": QueueRules(source="normal-source", concurrent=100, batch=10),
        BULK: QueueRules(source="bulk-source", concurrent=100, batch=10),
        "long": QueueRules(source="long-source", concurrent=50, batch=1),
    },
)
COLD = Throughput({})


def peak(runs: int = 100_000, *, at: int = MIDNIGHT, shares: Mapping[str, float] | None = None) -> Peak:
    return Peak(at // MINUTE, runs, runs, {BULK: 1.0} if shares is None else shares)


def planned(*peaks: Peak) -> PrescalePlan:
    return PrescalePlan(peaks=peaks)


def decided(plan: PrescalePlan, before: float, *, rules: PrescaleRules = RULES) -> PrescaleDecision:
    """The decision this many seconds before midnight, with tables that already have enough."""
    return decide(rules, plan, None, MIDNIGHT - before)


def test_prescale_queue_starts_as_many_runs_as_lambdas_own_pollers_reach_in_ten_seconds() -> None:
    assert RULES.queues[BULK].starts == 3_000
    assert QueueRules(source="", concurrent=2, batch=10).starts == 200
    assert QueueRules(source="", concurrent=20, batch=10).starts == 1_775
    assert QueueRules(source="", concurrent=None, batch=10).starts == 3_000


def test_prescale_minute_is_a_peak_only_above_what_its_queue_starts_in_ten_seconds() -> None:
    assert wanted_pollers(RULES, peak(3_000)) == {}
    assert wanted_pollers(RULES, peak(3_001)) == {BULK: 4}
    assert wanted_pollers(RULES, peak(100_000)) == {BULK: 125}
    assert wanted_pollers(RULES, peak(10_000_000)) == {BULK: 200}
    assert not may_be_peak(RULES, 290)
    assert may_be_peak(RULES, 3_001)


def test_prescale_runs_of_a_minute_are_divided_among_the_queues() -> None:
    shares = {"normal": 0.5, BULK: 0.49, "long": 0.01, "unknown": 0.0}
    assert wanted_pollers(RULES, peak(100_000, shares=shares)) == {"normal": 63, BULK: 62, "long": 13}


def test_prescale_forecast_counts_only_the_minutes_that_have_entered_since_the_last_tick() -> None:
    minute = MIDNIGHT // MINUTE
    assert minutes_to_count(MIDNIGHT + 3, MIDNIGHT - 57) == [minute + 15, minute + 30]
    assert minutes_to_count(MIDNIGHT + 3, None) == [minute + 15, minute + 30]


def test_prescale_repeated_tick_counts_its_minutes_again() -> None:
    assert minutes_to_count(MIDNIGHT + 9, MIDNIGHT + 3) == minutes_to_count(MIDNIGHT + 3, MIDNIGHT - 57)


def test_prescale_tick_after_missed_ones_counts_what_these_have_left_out() -> None:
    minute = MIDNIGHT // MINUTE
    assert minutes_to_count(MIDNIGHT + 3, MIDNIGHT - 117) == [minute + each for each in (14, 15, 29, 30)]
    assert len(minutes_to_count(MIDNIGHT + 3, MIDNIGHT - 7_200)) == 10


def test_prescale_busiest_seconds_follow_from_the_pages_of_a_count() -> None:
    assert busiest([]) == 0
    assert busiest([(0, 0, 500), (0, 0, 700)]) == 1_200
    assert busiest([(0, 59, 6_000), (59, 59, 10)]) == 1_010
    assert busiest([(0, 4, 1_000), (30, 34, 1_500)]) == 1_500


def test_prescale_minute_that_is_counted_again_replaces_its_first_count() -> None:
    plan = with_counted(RULES, planned(peak(50_000)), [peak(80_000)], MIDNIGHT - 900)
    assert [each.runs for each in plan.peaks] == [80_000]
    assert with_counted(RULES, plan, [peak(10)], MIDNIGHT - 900).peaks == ()
    assert with_counted(RULES, plan, [], MIDNIGHT + KEPT_SECONDS).peaks == ()


def test_prescale_minute_that_is_not_counted_completely_does_not_lower_an_earlier_count() -> None:
    plan = with_counted(RULES, planned(peak(50_000)), [replace(peak(10), at_least=True)], MIDNIGHT - 900)
    assert [each.runs for each in plan.peaks] == [50_000]
    plan = with_counted(RULES, plan, [replace(peak(60_000), at_least=True)], MIDNIGHT - 900)
    assert [(each.runs, each.at_least) for each in plan.peaks] == [(60_000, True)]


def test_prescale_plan_without_a_peak_does_not_change() -> None:
    assert with_counted(RULES, PrescalePlan(), [peak(100)], MIDNIGHT) == PrescalePlan()
    assert decide(RULES, PrescalePlan(), None, MIDNIGHT) == PrescaleDecision(PrescalePlan(), ())


def test_prescale_pollers_are_requested_ten_minutes_before_and_removed_after_the_peak() -> None:
    plan = planned(peak())
    assert decided(plan, LEAD_SECONDS + 1).actions == ()
    raised = decided(plan, LEAD_SECONDS)
    assert raised.actions == (SetPollers(BULK, "bulk-source", 125, 125),)
    assert raised.plan.raised == {BULK: Raised(125, MIDNIGHT + KEPT_SECONDS)}
    later = decided(raised.plan, -KEPT_SECONDS)
    assert later.actions == (RemovePollers(BULK, "bulk-source", 100),)
    assert later.plan.raised == {BULK: Raised(0, MIDNIGHT + KEPT_SECONDS, 125, MIDNIGHT + KEPT_SECONDS)}
    assert removed(later.plan, BULK).raised == {}


def test_prescale_queue_never_has_less_concurrency_than_usual() -> None:
    (action,) = decided(planned(peak(4_000)), 60).actions
    assert isinstance(action, SetPollers)
    assert (action.minimum, action.maximum) == (5, 10)


def test_prescale_repeated_tick_makes_the_same_requests_and_is_charged_once() -> None:
    raised = decided(planned(peak()), LEAD_SECONDS)
    again = decided(raised.plan, LEAD_SECONDS - 5)
    assert again.actions == raised.actions
    assert again.plan == raised.plan


def test_prescale_pollers_are_removed_even_if_all_ticks_after_the_peak_were_missed() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    late = decide(RULES, with_counted(RULES, plan, [], MIDNIGHT + 7_200), None, MIDNIGHT + 7_200)
    assert late.actions == (RemovePollers(BULK, "bulk-source", 100),)
    assert late.plan.spent_on(MIDNIGHT + 7_200) > 0


def test_prescale_removal_is_requested_until_the_pollers_are_seen_to_be_gone() -> None:
    plan = decided(decided(planned(peak()), 0).plan, -KEPT_SECONDS).plan
    again = decided(plan, -KEPT_SECONDS - 60)
    assert again.actions == (RemovePollers(BULK, "bulk-source", 100),)
    assert decided(again.plan, -KEPT_SECONDS - 60) == again
    has, until = plan.raised[BULK], MIDNIGHT + KEPT_SECONDS + 60
    assert again.plan.raised == {BULK: replace(has, left_paid_until=until)}
    assert again.plan.spent == pytest.approx(plan.spent + 125 * 60 / 3_600 * 0.00925, abs=1e-4)


def test_prescale_peak_that_is_gone_when_it_is_counted_again_gets_its_pollers_removed() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    counted = with_counted(RULES, plan, [peak(10)], MIDNIGHT - 300)
    assert decided(counted, 300).actions == (RemovePollers(BULK, "bulk-source", 100),)


def test_prescale_peaks_that_follow_each_other_keep_their_pollers() -> None:
    plan = decided(planned(peak(), peak(at=MIDNIGHT + 600)), LEAD_SECONDS).plan
    middle = decided(plan, -KEPT_SECONDS)
    assert [type(each) for each in middle.actions] == [SetPollers]
    assert middle.plan.raised[BULK].paid_until == MIDNIGHT + 600 + KEPT_SECONDS


def test_prescale_pollers_cost_their_hours() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    assert plan.spent == pytest.approx(125 * 780 / 3600 * 0.00925, abs=1e-4)
    assert plan.history[-1].dollars == plan.spent
    assert plan.history[-1].says == f"{BULK}: 125 pollers until 2026-11-22T00:03:00Z (125 needed)"


def test_prescale_budget_belongs_to_a_day() -> None:
    plan = replace(planned(peak(at=MIDNIGHT + 3_600)), day="2026-11-21", spent=1_000.0)
    assert decided(plan, -3_000).actions
    assert plan.spent_on(MIDNIGHT - 1) == 1_000
    assert plan.spent_on(MIDNIGHT) == 0


def test_prescale_small_budget_pays_a_part_and_says_so() -> None:
    rules = replace(RULES, dollars_per_day=0.10)
    found = decided(planned(peak()), LEAD_SECONDS, rules=rules)
    assert 12 <= found.plan.raised[BULK].pollers < 125
    assert found.plan.spent <= 0.10
    assert found.limits == ("dollars_per_day leaves $0.10, and the pollers (normal bulk 125) cost $0.25",)


def test_prescale_budget_that_is_used_up_pays_nothing_and_says_so() -> None:
    rules = replace(RULES, dollars_per_day=0.01)
    found = decided(planned(peak()), LEAD_SECONDS, rules=rules)
    assert (found.actions, found.plan.spent) == ((), 0)
    assert len(found.limits) == 1


def test_prescale_pollers_whose_further_time_the_budget_does_not_pay_are_removed() -> None:
    rules, noon = replace(RULES, dollars_per_day=0.26), MIDNIGHT + 43_200
    plan = decide(rules, planned(peak(at=noon)), None, noon - LEAD_SECONDS).plan
    plan = replace(plan, peaks=(*plan.peaks, peak(at=noon + 600)))
    found = decide(rules, plan, None, noon + KEPT_SECONDS)
    assert found.actions == (RemovePollers(BULK, "bulk-source", 100),)


def test_prescale_remaining_cents_do_not_lead_to_a_request_each_minute() -> None:
    rules = replace(RULES, dollars_per_day=0.10)
    plan = decided(planned(peak()), LEAD_SECONDS, rules=rules).plan
    for before in range(LEAD_SECONDS - 60, 120, -60):
        following = decided(plan, before, rules=rules).plan
        assert len(following.history) - len(plan.history) <= 1
        plan = following
    assert len(plan.history) <= 4
    assert plan.spent <= 0.10


def test_prescale_budget_of_zero_only_removes() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    found = decided(plan, LEAD_SECONDS - 60, rules=replace(RULES, dollars_per_day=0))
    assert found.actions == (RemovePollers(BULK, "bulk-source", 100),)


def test_prescale_pollers_use_no_more_executions_than_the_account_has() -> None:
    rules = replace(RULES, spare=300)
    found = decided(planned(peak(shares={"normal": 0.5, BULK: 0.5})), LEAD_SECONDS, rules=rules)
    assert sum(max(each.pollers * 10 - 100, 0) for each in found.plan.raised.values()) <= 300
    assert min(each.pollers for each in found.plan.raised.values()) >= 20
    (limit,) = found.limits
    assert limit == "account_concurrency is too small for the pollers that are needed: normal 63, normal bulk 63"


def test_prescale_warm_throughput_is_requested_as_soon_as_the_peak_is_known() -> None:
    found = decide(RULES, planned(peak()), COLD, MIDNIGHT - 1_790)
    assert found.actions == (
        WarmUp("jobs", {"jobs.reads": 13_000}, pytest.approx(0.13)),
        WarmUp("runs", {"ended.writes": 13_000, "runs.reads": 25_000, "runs.writes": 38_000}, pytest.approx(29.64)),
    )
    assert found.plan.spent == pytest.approx(29.77)
    assert found.plan.asked["runs.writes"] == 38_000


def test_prescale_claims_of_a_large_peak_need_throughput_of_the_due_index() -> None:
    units = decide(RULES, planned(peak(1_000_000)), COLD, MIDNIGHT - 1_790).plan.asked
    assert (units["jobs.writes"], units["due.writes"]) == (6_000, 12_000)


def test_prescale_throughput_that_tables_have_is_not_requested() -> None:
    enough = Throughput({"runs.writes": 40_000, "runs.reads": 40_000, "ended.writes": 20_000, "jobs.reads": 13_000})
    assert decide(RULES, planned(peak()), enough, MIDNIGHT - 1_790).actions == ()


def test_prescale_throughput_is_charged_once_and_requested_until_the_tables_have_it() -> None:
    plan = decide(RULES, planned(peak()), COLD, MIDNIGHT - 1_790).plan
    assert decide(RULES, plan, Throughput({}, updating=True), MIDNIGHT - 1_730).actions == ()
    again = decide(RULES, plan, COLD, MIDNIGHT - 1_730)
    assert [each.dollars for each in again.actions if isinstance(each, WarmUp)] == pytest.approx([0.13, 29.64])
    assert again.plan.spent == plan.spent
    done = decide(RULES, again.plan, Throughput(dict(plan.asked)), MIDNIGHT - 1_670)
    assert (done.actions, done.plan.asked) == ((), {})


def test_prescale_budget_pays_the_pollers_first_and_throughput_with_the_rest() -> None:
    rules = replace(RULES, dollars_per_day=15)
    first = decide(rules, planned(peak()), COLD, MIDNIGHT - 1_790)
    assert first.plan.spent <= 15 - 125 * 780 / 3600 * 0.00925
    assert OWN_WRITES < first.plan.asked["runs.writes"] < 38_000
    (limit,) = first.limits
    assert limit == "dollars_per_day leaves $14.75, and the warm throughput costs $29.77"
    raised = decide(rules, first.plan, Throughput(dict(first.plan.asked)), MIDNIGHT - LEAD_SECONDS)
    assert raised.plan.raised[BULK].pollers == 125
    assert raised.plan.spent <= 15


def test_prescale_small_budget_raises_throughput_by_little_each_day() -> None:
    rules, has = replace(RULES, dollars_per_day=2), COLD
    for day in range(25):
        at = MIDNIGHT + day * 86_400
        plan = decide(rules, planned(peak(at=at)), has, at - 1_790).plan
        assert plan.spent <= 2 - 125 * 780 / 3600 * 0.00925 + 1e-9
        has = Throughput({**has.units, **plan.asked})
    assert has.units["runs.writes"] == 38_000


def test_prescale_throughput_of_earlier_days_is_kept_so_later_days_reach_all_of_it() -> None:
    rules, has = replace(RULES, dollars_per_day=15), COLD
    for day in range(3):
        at = MIDNIGHT + day * 86_400
        plan = decide(rules, planned(peak(at=at)), has, at - 1_790).plan
        has = Throughput({**has.units, **plan.asked})
    assert has.units["runs.writes"] == 38_000


def test_prescale_throughput_stays_within_the_quota_of_a_table() -> None:
    units = decide(replace(RULES, table_quota=40_000), planned(peak(1_000_000)), COLD, MIDNIGHT - 1_790).plan.asked
    assert units["runs.writes"] == 40_000
    assert units.get("jobs.reads", OWN_READS) <= 14_000


def test_prescale_throughput_that_aws_refuses_costs_nothing_and_is_requested_an_hour_later() -> None:
    found = decide(RULES, planned(peak()), COLD, MIDNIGHT - 1_790)
    plan = found.plan
    for action in found.actions:
        assert isinstance(action, WarmUp)
        plan = refused(plan, action, MIDNIGHT - 1_789, "LimitExceededException")
    assert (plan.spent, plan.asked) == (0, {})
    assert decide(RULES, plan, COLD, MIDNIGHT - 1_730).actions == ()
    later = replace(plan, peaks=(peak(at=MIDNIGHT + 3_600),))
    assert decide(RULES, later, COLD, MIDNIGHT + 1_900).actions


def test_prescale_throughput_that_aws_refuses_after_a_request_without_an_answer_costs_nothing() -> None:
    plan = decide(RULES, planned(peak()), COLD, MIDNIGHT - 1_790).plan
    again = decide(RULES, plan, COLD, MIDNIGHT - 1_730)
    plan = again.plan
    for action in again.actions:
        assert isinstance(action, WarmUp)
        plan = refused(plan, action, MIDNIGHT - 1_729, "LimitExceededException")
    assert (plan.spent, plan.asked, plan.charges) == (0, {}, {})
    assert [each.dollars for each in plan.history[1:]] == pytest.approx([-0.13, -29.64])


def test_prescale_throughput_that_is_refused_on_the_next_day_is_not_taken_from_the_cost_of_that_day() -> None:
    at = MIDNIGHT + 600
    plan = decide(RULES, planned(peak(at=at)), COLD, MIDNIGHT - 60).plan
    again = decide(RULES, plan, COLD, MIDNIGHT + 10)
    assert again.plan.spent > 0  # the pollers of the new day
    refunded = again.plan
    for action in again.actions:
        if isinstance(action, WarmUp):
            refunded = refused(refunded, action, MIDNIGHT + 11, "LimitExceededException")
    assert refunded.spent == again.plan.spent


def test_prescale_throughput_of_a_plan_without_its_charge_is_refused_without_a_refund() -> None:
    """A plan that an earlier version stored."""
    asked = decide(RULES, planned(peak()), COLD, MIDNIGHT - 1_790).plan.asked
    plan = replace(planned(peak()), asked=asked, day="2026-11-21", spent=30.0)
    for action in decide(RULES, plan, COLD, MIDNIGHT - 1_730).actions:
        assert isinstance(action, WarmUp)
        plan = refused(plan, action, MIDNIGHT - 1_729, "LimitExceededException")
    assert (plan.spent, str(plan.history[-1].dollars)) == (30.0, "0.0")


def test_prescale_pollers_whose_removal_fails_are_charged_until_it_succeeds() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    for minute in range(3, 304):
        found = decide(RULES, replace(plan, peaks=()), None, MIDNIGHT + minute * 60)
        assert found.actions == (RemovePollers(BULK, "bulk-source", 100),)
        plan = found.plan
    assert (plan.raised[BULK].pollers, plan.raised[BULK].paid_until) == (0, MIDNIGHT + KEPT_SECONDS)
    assert plan.spent == pytest.approx(125 * (5 * 3_600) / 3_600 * 0.00925, rel=1e-2)
    assert [each.says.partition(" 2026")[0] for each in plan.history] == [
        f"{BULK}: 125 pollers until",
        f"{BULK}: remove 125 pollers",
    ]
    assert plan.history[-1].dollars == pytest.approx(plan.spent, rel=1e-2)
    assert removed(plan, BULK).raised == {}


def test_prescale_pollers_whose_removal_fails_until_they_are_needed_again_are_charged() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    plan = decide(RULES, replace(plan, peaks=()), None, MIDNIGHT + KEPT_SECONDS).plan
    at = MIDNIGHT + 5 * 3_600
    plan = decide(RULES, replace(plan, peaks=(peak(at=at),)), None, at - LEAD_SECONDS).plan
    assert plan.raised == {BULK: Raised(125, at + KEPT_SECONDS)}
    assert plan.spent == pytest.approx(125 * (at + KEPT_SECONDS - MIDNIGHT) / 3_600 * 0.00925, rel=1e-2)


def test_prescale_pollers_that_missed_ticks_have_left_are_charged_when_they_are_needed_again() -> None:
    plan = decided(planned(peak()), LEAD_SECONDS).plan
    at = MIDNIGHT + 5 * 3_600
    found = decide(RULES, replace(plan, peaks=(peak(at=at),)), None, at - LEAD_SECONDS)
    assert found.plan.raised == {BULK: Raised(125, at + KEPT_SECONDS)}
    assert found.plan.spent == pytest.approx(125 * (at + KEPT_SECONDS - MIDNIGHT) / 3_600 * 0.00925, rel=1e-2)


def test_prescale_stage_that_lists_no_successes_needs_no_throughput_for_the_list() -> None:
    units = decide(replace(RULES, list_successes=False), planned(peak()), COLD, MIDNIGHT - 1_790).plan.asked
    assert "ended.writes" not in units


def test_prescale_history_keeps_the_last_decisions() -> None:
    plan = PrescalePlan()
    for at in range(30):
        plan = plan.charged(at, f"decision {at}")
    assert [each.at for each in plan.history] == list(range(10, 30))


def test_prescale_rules_that_cannot_be_read_are_refused() -> None:
    text = (
        '{"dollars_per_day": 15, "table_quota": 40000, "spare": 300, "list_successes": true, "runs_table": "runs",'
        ' "queues": {"normal": {"source": "a", "concurrent": null, "batch": 10}}}'
    )
    assert rules_of(text).queues["normal"] == QueueRules(source="a", concurrent=None, batch=10)
    for wrong in ("", "[]", "{}", '{"queues": {}}', text.replace('"spare"', '"spares"')):
        with pytest.raises(ValueError, match="must be a JSON object with dollars_per_day and queues"):
            rules_of(wrong)
