"""What requests cost.

- The arithmetic of cost: from counts and prices to dollars.
- The benchmarks that count write units: what they add up, and what they compare it with.
- A benchmark's counts are checked where they are given.
"""

from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.arguments import positive
from benchmarks.cost import prices
from benchmarks.cost.__main__ import stage_with_settings
from benchmarks.cost.alignment import Alignment, alignment
from benchmarks.cost.apart import apart
from benchmarks.cost.caretakers import caretaking_units
from benchmarks.cost.counts import CASES, DOCUMENTED_CARETAKING, DOCUMENTED_RUN, JOB_KILOBYTES, Counts
from benchmarks.cost.idle import BUDGET, Idle, IdleRound, key_requests, remedies
from benchmarks.cost.model import Assumptions, cpu_seconds, lambda_usd, round_firings, totalled, traced
from benchmarks.cost.months import ACTIVE_METRICS, months
from benchmarks.cost.per_million import MESSAGES_OF_A_FIRING, break_even, duecourse, everything, google, step_functions
from benchmarks.cost.report import document, table
from benchmarks.cost.stage import idle_of as idle_of_template
from benchmarks.creation import DAILY, measure
from benchmarks.dispatch.cases import NOW as CASES_NOW
from benchmarks.dispatch.cases import named
from benchmarks.workflows import Cost, budgets
from benchmarks.workflows import measure as measure_workflow
from duecourse.domain.jobs import backfill
from duecourse.domain.jobs.cursor import plan
from duecourse.domain.jobs.job import Overlap
from duecourse.usecases.dispatch.claim import HELD_FIRINGS, outgoing
from infra.settings.config import StageConfig
from infra.settings.throughput_config import ThroughputConfig, WarmThroughput
from infra.stages import stage_named
from tests.support.template import resources

ASSUMED = Assumptions()
ROUND = IdleRound(cpu_ms=3.0, reads=1, queries=3, others=0, log_bytes=500)
ALARM_METRICS = 45
TICK = IdleRound(cpu_ms=4.0, reads=2, queries=33, others=2, log_bytes=800)
IDLE = Idle(shards=16, lanes=4, reconcile_minutes=5, round=ROUND, tick=TICK, alarm_metrics=ALARM_METRICS)
FIRING = {
    "cpu_ms_per_firing": 0.1,
    "requests_per_1000": 150,
    "claim_wru_per_firing": 3.0,
    "wru_per_firing": 5.0,
    "rru_per_firing": 0.05,
    "sqs_requests_per_1000": 100,
}
RUN = {"cpu_ms_per_run": {"median": 2.5, "min": 2, "max": 3}, "wru_per_run": 2, "list_wru_per_run": 1, "rru_per_run": 1}
DISPATCH = {"cases": dict.fromkeys(CASES, FIRING)}
LOCKED = RUN | {"wru_per_run": 4}
EXECUTE = {"cases": {"http": RUN | {"sqs_requests_per_run": 0.2}, "http_overlap_skip": LOCKED}}


def test_cost_prices_have_a_unit_a_source_and_a_verification_status() -> None:
    for price in prices.PRICES.values():
        assert price.dollars >= 0
        assert price.per > 0
        assert price.unit
        assert price.source
        assert price.standing in {prices.CHECKED, prices.RECALLED}


def test_cost_million_write_units_cost_the_list_price() -> None:
    assert prices.usd("wru", 1e6) == pytest.approx(0.625)
    assert prices.usd("event_poller", 720) == pytest.approx(6.66)


def test_cost_backfill_estimates_use_the_same_prices() -> None:
    assert prices.usd("wru", 1) == pytest.approx(backfill.WRITE_UNIT)
    assert prices.usd("rru", 1) == pytest.approx(backfill.READ_UNIT)
    assert prices.usd("sqs_standard", 1) == pytest.approx(backfill.SQS_REQUEST)
    assert prices.usd("lambda_request", 1) == pytest.approx(backfill.LAMBDA_REQUEST)
    assert prices.usd("lambda_gb_second", 1) == pytest.approx(backfill.LAMBDA_GB_SECOND)


def test_cost_counts_come_from_the_results() -> None:
    counts = Counts.from_results(DISPATCH, EXECUTE)
    assert counts.firings["minutely"].requests_per_1000 == 150
    assert counts.firings["minutely"].claim_wru_per_firing == 3, "without the run's own, which is counted with the run"
    assert counts.run.cpu_ms_per_run == 2.5, "the median of a figure with a spread"
    assert counts.locked.wru_per_run == 4, "where overlap is forbidden, which is the default"
    assert set(counts.sources.values()) == {"measured"}
    assert counts.gaps == ("execute http_overlap_skip: no sqs_requests_per_run",)


def test_cost_counts_default_to_the_documented_ones() -> None:
    counts = Counts.from_results(None, None)
    assert counts.run == DOCUMENTED_RUN
    assert counts.firings["distinct"].claim_wru_per_firing == 3
    assert set(counts.sources.values()) == {"documented"}


def test_cost_missing_values_of_a_result_are_reported() -> None:
    found = {"cases": {"http": {name: value for name, value in RUN.items() if name != "wru_per_run"}}}
    counts = Counts.from_results(DISPATCH, found)
    assert counts.run.wru_per_run == DOCUMENTED_RUN.wru_per_run
    assert "execute http: no wru_per_run" in counts.gaps


def test_cost_smaller_batches_need_more_requests_of_the_poller() -> None:
    run = replace(DOCUMENTED_RUN, sqs_requests_per_run=1.2)
    assert run.sqs_requests(10) == pytest.approx(1.2)
    assert run.sqs_requests(1) == pytest.approx(3.0)


def test_cost_small_function_has_a_share_of_a_processor() -> None:
    assert cpu_seconds(10, 1769) == pytest.approx(0.010)
    assert cpu_seconds(10, 512) == pytest.approx(0.03455, rel=1e-3)
    assert cpu_seconds(10, 3008) == pytest.approx(0.010), "one thread has one processor at most"


def test_cost_invocation_is_billed_for_its_request_and_its_memory_over_time() -> None:
    assert lambda_usd(1e6, 0.1, 1024) == pytest.approx(0.20 + 1.33334)


def test_cost_items_include_their_total() -> None:
    assert totalled({"a": 1.0, "b": 0.25}) == {"a": 1.0, "b": 0.25, "total": 1.25}


def test_cost_empty_receives_are_five_long_polls_per_queue() -> None:
    assert IDLE.polls_of_a_queue == 648_000
    assert IDLE.items(ASSUMED)["lane_polls"] == pytest.approx(4 * 648_000 * 0.40e-6, abs=1e-4)


def test_cost_idle_shard_causes_one_message_and_one_round_per_quarter_of_an_hour() -> None:
    one, two = (replace(IDLE, shards=shards).items(ASSUMED) for shards in (16, 32))
    assert two["dispatch_reads"] == pytest.approx(2 * one["dispatch_reads"], rel=1e-3)
    assert two["dispatch_lambda"] == pytest.approx(2 * one["dispatch_lambda"], rel=1e-3)
    assert two["lane_polls"] == one["lane_polls"]
    awake = replace(IDLE, woken=1.0).items(ASSUMED)
    assert awake["dispatch_reads"] == pytest.approx(15 * one["dispatch_reads"], rel=1e-2)


def test_cost_empty_round_makes_one_strong_read_and_one_query_of_half_a_unit() -> None:
    assert ROUND.read_units == 2.5
    assert ROUND.requests == 4


def test_cost_bulk_queues_are_polled_like_lanes() -> None:
    items = replace(IDLE, bulk_queues=4).items(ASSUMED)
    assert items["bulk_polls"] == items["lane_polls"] == pytest.approx(1.04, abs=0.01)


def test_cost_production_stage_keeps_its_budget_with_forty_alarm_metrics() -> None:
    """With 60 it does not."""
    stage = stage_named("prod")
    idle = idle_of(stage)
    assert stage.shards == 16
    assert replace(idle, alarm_metrics=60).items(ASSUMED)["total"] > BUDGET
    assert replace(idle, alarm_metrics=40).items(ASSUMED)["total"] <= BUDGET


def idle_of(stage: StageConfig) -> Idle:
    return Idle(
        shards=stage.shards,
        lanes=len(stage.lanes),
        reconcile_minutes=stage.reconcile_minutes,
        round=ROUND,
        tick=TICK,
        audit_segments=stage.audit_segments,
        repair_hours=stage.repair_hours,
        alarm_metrics=ALARM_METRICS,
    )


def test_cost_index_repair_and_audit_start_every_quarter_of_an_hour_and_read_all_jobs() -> None:
    items = IDLE.items(ASSUMED)
    starts = lambda_usd(2_880, 1.0, 1024) + lambda_usd(2_880, 1.0, 512)
    assert starts < items["repair_and_audit"] < starts + 0.2
    seldom = replace(IDLE, audit_segments=6).items(ASSUMED)
    assert seldom["repair_and_audit"] < items["repair_and_audit"]


def test_cost_provisioned_pollers_and_disabled_key_are_separate_but_alarms_are_included() -> None:
    pollers = replace(IDLE, provisioned_pollers=8)
    assert pollers.items(ASSUMED) == IDLE.items(ASSUMED)
    assert apart(pollers, ASSUMED)["provisioned_pollers"] == pytest.approx(8 * 6.66)
    items = replace(IDLE, alarm_metrics=20).items(ASSUMED)
    assert (items["alarms"], items["metrics"], items["customer_key"]) == (2.0, 0.0, 0.0)
    keyed = replace(IDLE, customer_key=True).items(ASSUMED)
    assert keyed["customer_key"] == apart(IDLE, ASSUMED)["customer_key"] == pytest.approx(1.52, abs=0.01)
    assert keyed["total"] == pytest.approx(IDLE.items(ASSUMED)["total"] + keyed["customer_key"], abs=1e-3)


def test_cost_customer_key_is_requested_for_each_table_and_connection_every_five_minutes() -> None:
    """A busy worker has a connection for each run of its batch, and both tables behind each."""
    assert key_requests(connections=10, tables=2) == 10 * 2 * 12 * 720
    busy = apart(IDLE, ASSUMED)["customer_key_of_each_busy_worker"]
    assert busy == pytest.approx(0.5184)
    assert 30 * busy == pytest.approx(15.55, abs=0.01)
    alone = apart(IDLE, replace(ASSUMED, batch=1))["customer_key_of_each_busy_worker"]
    assert alone == pytest.approx(busy / 10, abs=1e-3)


def test_cost_customer_key_is_requested_while_idle_at_most_once_per_shard() -> None:
    few, many = (apart(replace(IDLE, shards=shards), ASSUMED)["customer_key"] for shards in (16, 32))
    assert 1.4 < few < 2
    assert many - few == pytest.approx(16 * 8_640 * 0.03 / 10_000, abs=1e-3)


def test_cost_unauthenticated_requests_to_open_routes_cost_up_to_the_gateway_limit() -> None:
    limited = replace(IDLE, open_requests_per_second=10)
    flooded = apart(limited, ASSUMED)["open_routes_flooded"]
    assert 35 < flooded < 50
    unlimited = apart(replace(IDLE, open_requests_per_second=200), ASSUMED)["open_routes_flooded"]
    assert unlimited == pytest.approx(20 * flooded, rel=1e-3)
    assert 800 < unlimited < 1_000
    assert apart(IDLE, ASSUMED)["open_routes_flooded"] == 0


def test_cost_remedies_are_sorted_by_savings() -> None:
    found = remedies(IDLE, ASSUMED)
    savings = [float(remedy.split()[0]) for remedy in found]
    assert savings == sorted(savings, reverse=True)
    assert savings[-1] > 0


def test_cost_claim_for_many_firings_reduces_their_cost() -> None:
    costs = everything(Counts.from_results(None, None), ASSUMED)
    distinct, minutely, seconds = (costs[f"duecourse_{case}"]["total"] for case in CASES)
    assert distinct > minutely > seconds


def test_cost_isolated_runs_share_no_invocation() -> None:
    counts = Counts.from_results(DISPATCH, EXECUTE)
    full, alone = (
        duecourse(counts.firings["distinct"], counts.run, Assumptions(batch=batch), 2.1)["execute_lambda"]
        for batch in (10, 1)
    )
    assert alone > 4 * full


def test_cost_rounds_with_one_firing_bill_their_sleep_to_that_firing() -> None:
    counts = Counts.from_results(DISPATCH, EXECUTE)
    full = duecourse(counts.firings["distinct"], counts.run, ASSUMED, 2.1)
    alone = replace(ASSUMED, batch=1, round_firings=round_firings(1), alignment_seconds=0.35)
    items = duecourse(counts.firings["distinct"], counts.run, alone, 2.1)
    assert items["dispatch_lambda"] > 0.35 * 13.3334 > 50 * full["dispatch_lambda"]
    assert items["dispatch_sends"] == pytest.approx(0.40), "a request for each"


def test_cost_rounds_are_full_where_batches_are_full() -> None:
    assert (round_firings(10), round_firings(3), round_firings(1)) == (1_000, 3, 1)


def test_cost_round_sleeps_a_fraction_of_a_second_for_few_firings_and_longer_for_many() -> None:
    few, full = alignment(10), alignment(1_000)
    assert 0.3 < few.slept < 0.5
    assert few.slept < full.slept < 5
    assert few.held_at_most == full.held_at_most == 0


def test_cost_round_with_one_or_two_firings_does_not_sleep_but_its_workers_hold_them_for_as_long() -> None:
    alone, two, three = (alignment(firings) for firings in (1, HELD_FIRINGS, HELD_FIRINGS + 1))
    assert alone.slept == two.slept == 0 < three.slept
    assert alone.held == pytest.approx(three.slept, abs=0.05)
    assert alone.held_by(1) == alone.held < alone.held_by(10) == alone.held_at_most < 1


def test_cost_held_messages_are_billed_with_the_memory_of_a_worker_once_for_a_batch() -> None:
    counts = Counts.from_results(DISPATCH, EXECUTE)
    firing, run = counts.firings["distinct"], counts.run
    for batch in (1, 10):
        at_once, held = (
            duecourse(firing, run, replace(ASSUMED, batch=batch, held_seconds=seconds), 2.1)["execute_lambda"]
            for seconds in (0.0, 0.4)
        )
        assert held - at_once == pytest.approx(0.4 * ASSUMED.execute_mb / 1024 * 13.3334 / batch, abs=1e-3)


def test_cost_isolated_run_is_always_traced_and_concurrent_runs_are_sampled() -> None:
    assert traced(1, 60) == 1
    assert traced(100, 60) == 60 + 0.05 * 40
    counts = Counts.from_results(DISPATCH, EXECUTE)
    alone = replace(ASSUMED, batch=1, round_firings=1)
    full, single, untraced = (
        duecourse(counts.firings["distinct"], counts.run, assume, 2.1)["traces"]
        for assume in (ASSUMED, alone, replace(alone, tracing=False))
    )
    assert (single, untraced) == (5.0, 0.0)
    assert full == pytest.approx(0.31)


def test_cost_default_overlap_policy_costs_two_more_writes_per_firing() -> None:
    costs = everything(Counts.from_results(DISPATCH, EXECUTE), ASSUMED)
    for case in CASES:
        allowed, default = costs[f"duecourse_{case}"]["total"], costs[f"duecourse_{case}_overlap_skip"]["total"]
        assert default - allowed == pytest.approx(1.25, abs=1e-3)


def test_cost_firings_spread_over_a_month_cost_more_each_than_concurrent_ones() -> None:
    counts = Counts.from_results(DISPATCH, EXECUTE)
    found = months(counts, 3.0, 16, ASSUMED, lambda _: Alignment(0.35))
    assert list(found) == ["100,000", "1,000,000", "10,000,000", "100,000,000"]
    together = duecourse(counts.firings["distinct"], counts.run, ASSUMED, 2.1)["total"]
    assert found["1,000,000"]["distinct_firings_of_a_round"] == 1
    assert found["1,000,000"]["distinct"] > 3.0 + 1.5 * together
    assert found["1,000,000"]["distinct"] > found["1,000,000"]["minutely"], "a claim covers ten of a job's firings"
    assert found["100,000,000"]["distinct"] < 100 * found["1,000,000"]["distinct"]


def test_cost_one_off_run_costs_its_request_and_units_plus_the_cost_of_a_firing() -> None:
    counts = Counts.from_results(None, None)
    items = everything(counts, ASSUMED)
    fired, later, job = (items[f"duecourse_{name}"] for name in ("distinct", "delayed_run", "at_job"))
    assert later["writes"] == pytest.approx(9 * 0.625)
    assert job["total"] - later["total"] == pytest.approx(13 * 0.625)
    assert later["requests"] > 1.0
    spared = sum(fired[name] for name in ("dispatch_writes", "execute_writes", "list_writes"))
    assert later["total"] == pytest.approx(
        fired["total"] - spared + later["writes"] + later["requests"] + later["request_logs"], abs=0.001
    )


def test_cost_delayed_run_with_overlap_lock_costs_its_write_and_reads() -> None:
    counts = Counts.from_results(None, None)
    items = everything(counts, ASSUMED)
    free, locked = items["duecourse_delayed_run"], items["duecourse_delayed_run_overlap_skip"]
    assert locked["writes"] - free["writes"] == pytest.approx(0.625)
    assert locked["execute_reads"] - free["execute_reads"] == pytest.approx(
        (counts.locked.rru_per_run - counts.run.rru_per_run) * 0.125
    )


def test_cost_million_firings_include_the_surcharge_of_fair_queues_for_each_message() -> None:
    firings = named("minutely").cursors(100)
    made = [plan(each, now=CASES_NOW, horizon=840) for each in firings]
    messages = [outgoing(each, one, now=CASES_NOW, nonce=str) for each, one in zip(firings, made, strict=True)]
    sent, planned = sum(map(len, messages)), sum(len(one.firings) for one in made)
    assert sent == planned * MESSAGES_OF_A_FIRING
    items = everything(Counts.from_results(None, None), ASSUMED)
    assert {costs["fair_queues"] for name, costs in items.items() if name.startswith("duecourse")} == {0.1}


def test_cost_million_daily_firings_include_the_reads_of_the_audit_and_of_index_repair() -> None:
    """Four audits a day and a pass of index repair read the job (2.5 KB), and an audit half a unit of its records."""
    prod = stage_named("prod")
    units = caretaking_units("distinct", segments=prod.audit_segments, repair_hours=prod.repair_hours)
    assert units == pytest.approx((4 + 1) * JOB_KILOBYTES / 8 + 0.5, rel=0.05)
    assert units == pytest.approx(DOCUMENTED_CARETAKING["distinct"], rel=0.05)
    counts = replace(Counts.from_results(None, None), caretaking={**DOCUMENTED_CARETAKING, "distinct": units})
    items = everything(counts, ASSUMED)
    assert items["duecourse_distinct"]["audit_and_repair"] == pytest.approx(units * 0.125, abs=1e-4)
    assert items["duecourse_minutely"]["audit_and_repair"] < 0.01


def test_cost_dashboards_are_charged_from_the_fourth_of_the_account() -> None:
    stage = replace(IDLE, dashboards=len(resources("prod", "AWS::CloudWatch::Dashboard")))
    assert stage.dashboards == 2
    assert stage.items(ASSUMED)["dashboards"] == 0
    assert replace(IDLE, dashboards=4).items(ASSUMED)["dashboards"] == 3.0
    assert apart(stage, ASSUMED)["dashboards_of_a_second_stage"] == 3.0


def test_cost_warm_throughput_is_charged_once_for_the_units_beyond_the_default() -> None:
    stage = replace(
        stage_named("prod"),
        throughput=ThroughputConfig(
            jobs=WarmThroughput(writes=10_000), due=WarmThroughput(reads=22_000, writes=20_000), runs=None
        ),
    )
    idle = idle_of_template(stage, {"round": ROUND, "tick": TICK}, ALARM_METRICS, 2)
    assert (idle.warm_writes, idle.warm_reads) == (6_000 + 16_000, 10_000)
    once = apart(idle, ASSUMED)["warm_throughput_once"]
    assert once == pytest.approx(prices.usd("warm_writes", 22_000) + prices.usd("warm_reads", 10_000))
    assert apart(IDLE, ASSUMED)["warm_throughput_once"] == 0


def test_cost_metrics_of_an_active_stage_are_charged_each_month() -> None:
    assert apart(IDLE, ASSUMED)["metrics_of_an_active_stage"] == pytest.approx(0.3 * ACTIVE_METRICS)


def test_cost_google_charges_per_job_regardless_of_its_firings() -> None:
    assert google(31)["total"] == pytest.approx(3225.81, abs=0.01)
    assert google(44_640)["total"] == pytest.approx(2.24, abs=0.01)


def test_cost_express_workflows_are_billed_per_started_tenth_of_a_second() -> None:
    first, second = (
        step_functions(Assumptions(call_seconds=seconds))["step_functions_express"] for seconds in (0.11, 0.2)
    )
    assert first["duration"] == second["duration"] == pytest.approx(0.2084, abs=1e-3)


def test_cost_break_even_with_google_is_given_in_both_directions() -> None:
    found = break_even(3.0, {"duecourse_distinct": 5.0, "duecourse_minutely": 2.5})
    assert found == {"daily_jobs_from": 30, "firings_a_job_and_month_up_to": 40_000}
    assert break_even(3.0, {"duecourse_distinct": 5_000.0, "duecourse_minutely": 2.5})["daily_jobs_from"] is None


def test_cost_document_contains_budgets_and_notes() -> None:
    result = document(Counts.from_results(None, EXECUTE), replace(IDLE, alarm_metrics=0), ASSUMED)
    assert result["budgets"] == {"idle_month_16_shards_at_most_720_cents": True}
    assert result["idle_month"]["16_shards"]["total"] == pytest.approx(
        sum(value for name, value in result["idle_month"]["16_shards"].items() if name != "total"), abs=1e-3
    )
    assert {"duecourse_distinct", "eventbridge_scheduler", "step_functions"} <= result["per_million"].keys()
    assert "Not measured but documented: dispatch distinct." in result["notes"]
    assert result["price_table"]["date"] == prices.DATE


def test_cost_document_contains_idle_month_by_shards_and_isolated_firings() -> None:
    result = document(Counts.from_results(None, EXECUTE), IDLE, ASSUMED)
    by_shards = result["idle_by_shards"]
    assert by_shards["16"] == result["idle_month"]["16_shards"]["total"]
    assert list(by_shards.values()) == sorted(by_shards.values())
    assert result["per_million_one_by_one"]["duecourse_distinct"] > result["per_million"]["duecourse_distinct"]
    assert next(iter(result["per_million"])).endswith("overlap_skip"), "default policies come first"


BARE = "per_million_without_logs_traces_and_records"


def test_cost_comparison_can_exclude_logs_traces_and_records() -> None:
    result = document(Counts.from_results(None, None), IDLE, ASSUMED)
    items, bare = result["per_million_items"]["duecourse_distinct"], result[BARE]
    left_out = items["logs"] + items["traces"] + items["records_kept"]
    assert bare["duecourse_distinct"] == pytest.approx(items["total"] - left_out, abs=1e-4)
    assert bare["google_cloud_scheduler"] == result["per_million"]["google_cloud_scheduler"]


def test_cost_missed_budget_is_reported_with_its_excess() -> None:
    result = document(Counts.from_results(None, None), replace(IDLE, shards=256), ASSUMED)
    assert result["budgets"] == {"idle_month_256_shards_at_most_720_cents": False}
    assert "misses its budget by" in result["notes"][0]
    assert "MISSED" in table(result)


def test_cost_table_shows_every_item() -> None:
    result = document(Counts.from_results(None, None), IDLE, ASSUMED)
    shown = table(result)
    for name in (*result["idle_month"]["16_shards"], *result["per_million"], *result["idle_apart"]):
        assert name.replace("_", " ") in shown


def test_cost_table_fits_80_columns() -> None:
    counts = Counts.from_results(None, None)
    assert max(map(len, table(document(counts, IDLE, ASSUMED)).splitlines())) < 80


def test_cost_of_a_stage_has_the_settings_of_its_deployment(tmp_path: Path) -> None:
    (tmp_path / "prod.json").write_text('{"shards": 32, "tracing": true}')
    stage = stage_with_settings("prod", tmp_path)
    assert (stage.shards, stage.tracing) == (32, True)
    assert stage_with_settings("dev", tmp_path) == stage_named("dev")


def test_cost_creation_with_a_seat_costs_two_more_units() -> None:
    without, seated = (measure(DAILY, seated=seats, keyed=False) for seats in (False, True))
    assert seated["write_units"] - without["write_units"] == pytest.approx(2, abs=0.2)
    assert seated["tenant_seats"] == 2
    parts = {name: units for name, units in seated.items() if name != "write_units"}
    assert seated["write_units"] == pytest.approx(sum(parts.values()), abs=0.1)


def test_cost_workflow_whose_job_forbids_overlap_costs_one_more_unit() -> None:
    allowed, forbidden = (measure_workflow({"only": ()}, overlap) for overlap in (Overlap.ALLOW, Overlap.SKIP))
    assert forbidden.written - allowed.written == forbidden.budget - allowed.budget == 1


def test_cost_workflow_above_its_units_misses_its_budget() -> None:
    cost = Cost(steps=1, units={"JOB RUN": 18, "ENDS ENDS": 1}, messages=4, locks=True)
    assert budgets({"one": cost}) == {
        "one_at_most_15_wru": False,
        "one_at_most_4_messages": True,
        "one_a_write_for_each_end": True,
    }


def test_cost_option_accepts_a_count_above_zero() -> None:
    assert positive("10000") == 10_000


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "", "²"])
def test_cost_option_rejects_any_other_count_with_a_clear_message(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a whole number above 0"):
        positive(text)
