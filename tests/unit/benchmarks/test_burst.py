"""The model of a burst: AWS's limits hold in it, and the real dispatcher loses nothing in it."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.burst.bucket import Bucket
from benchmarks.burst.conductor import Conductor
from benchmarks.burst.enqueue import Enqueued, enqueue, sampled_shards
from benchmarks.burst.jobs import BURST, TENANT, Placement, ShardJobs, job_id
from benchmarks.burst.ledger import CALLS, DUE_READS, DUE_WRITES, JOBS_WRITES
from benchmarks.burst.limits import BACK_PRESSURE, FIFO_CALLS, INDEX_WRITES, LIMITS, PARTITION_READS, PARTITION_WRITES
from benchmarks.burst.measured import with_counts
from benchmarks.burst.prescaled import DOLLARS, FOR_ONE, FOR_THREE, PRESCALED, PRESCALED_LANES
from benchmarks.burst.report import JUDGED, budgets, report
from benchmarks.burst.settings import SETTINGS, SHIPPED_LOCKED, SIZING_SHARDS, Assumptions, Scenario, Setting
from benchmarks.burst.simulate import scenarios, simulate
from benchmarks.burst.store import TENTH, Tables
from benchmarks.burst.workers import ENDED_PARTITIONS, ENDED_WRITES, LANE, RUNS_READS, RUNS_WRITES, lateness, start
from benchmarks.cost.counts import DOCUMENTED_LOCKED_RUN, Counts
from duecourse.domain.jobs.cursor import shard_of
from duecourse.domain.maintenance import prescale
from infra.stages import STAGES

PROD, RAISED, _ = SETTINGS
PLENTY = Setting(
    "plenty",
    "no limit but the slot's",
    jobs_writes=1e9,
    due_writes=1e9,
    runs_writes=1e9,
    runs_reads=1e9,
    ended_writes=1e9,
    run_index_partitions=1_000_000,
    jobs_reads=1e9,
    table_quota=1e9,
    dispatchers=1_000,
    lane_concurrency=None,
    pollers=(200, 2_000),
    account_concurrency=1e6,
    due_reads=1e9,
)


def a_burst(jobs: int, shards: int, setting: Setting = PLENTY, seconds: int = 1) -> Enqueued:
    return enqueue(Scenario(jobs, seconds, shards, 300, setting), Placement.of(jobs, shards), shards)


def test_burst_bucket_provides_at_most_its_rate_plus_one_second_of_reserve() -> None:
    bucket, given = Bucket("writes", 100, 0), 0
    for step in range(1000):
        while bucket.has(1, step / 100):
            bucket.take(1)
            given += 1
    assert given == bucket.taken == pytest.approx(100 * (9.99 + 1), abs=1)


def test_burst_bucket_accumulates_at_most_one_second() -> None:
    bucket = Bucket("writes", 100, 0)
    assert bucket.has(100, 3600)
    assert not bucket.has(101, 3600)


def test_burst_partition_never_exceeds_its_limit() -> None:
    tables = Tables(PLENTY, 0)
    count = sum(tables.write("today", "tomorrow", at / 1000) is None for at in range(3000) for _ in range(3))
    assert count <= PARTITION_WRITES.value * (3 + 1)
    assert tables.write("today", "tomorrow", 2.999) == PARTITION_WRITES.name


def test_burst_claim_within_its_slot_writes_that_partition_twice() -> None:
    tables = Tables(PLENTY, 0)
    assert sum(tables.write("this hour", "this hour", 0) is None for _ in range(1000)) == PARTITION_WRITES.value / 2


def test_burst_full_index_blocks_writes_to_its_table() -> None:
    tables = Tables(replace(PLENTY, due_writes=100), 0)
    assert sum(tables.write("today", "tomorrow", 0) is None for _ in range(100)) == 50
    assert tables.write("today", "tomorrow", 0) == DUE_WRITES
    assert tables.jobs.taken == 50 + BACK_PRESSURE.value


def test_burst_full_table_is_named_before_its_index() -> None:
    tables = Tables(replace(PLENTY, jobs_writes=1), 0)
    assert tables.write("today", "tomorrow", 0) is None
    assert tables.write("today", "tomorrow", 0) == JOBS_WRITES


def test_burst_slot_and_index_limit_the_pages_per_second() -> None:
    page = Assumptions().page_units(1_000)
    assert 70 <= page <= 75
    tables = Tables(PLENTY, 0)
    assert sum(tables.read("today", page, 0) is None for _ in range(100)) == PARTITION_READS.value // page
    assert tables.read("today", page, 0) == PARTITION_READS.name
    tables = Tables(replace(PLENTY, due_reads=12_000), 0)
    found = [tables.read(f"shard {shard}", page, 0) for shard in range(256)]
    assert found.count(None) == 12_000 // page
    assert set(found) == {None, DUE_READS}


def test_burst_processes_run_in_the_order_of_their_time() -> None:
    conductor, seen = Conductor(0.0), list[tuple[float, str]]()

    def process(name: str, step: float) -> None:
        for _ in range(3):
            conductor.sleep_until(conductor.now + step)
            seen.append((conductor.now, name))

    conductor.spawn(0, lambda: process("slow", 2))
    conductor.spawn(0.5, lambda: process("quick", 1))
    conductor.run(lambda: False)
    assert seen == [(1.5, "quick"), (2, "slow"), (2.5, "quick"), (3.5, "quick"), (4, "slow"), (6, "slow")]


def test_burst_simulation_that_ends_early_stops_its_processes() -> None:
    conductor, ended = Conductor(0.0), list[bool]()

    def process() -> None:
        try:
            while True:
                conductor.sleep_until(conductor.now + 1)
        finally:
            ended.append(True)

    conductor.spawn(0, process)
    conductor.spawn(0, process)
    conductor.run(lambda: conductor.now >= 5)
    assert ended == [True, True]


def test_burst_exception_in_a_process_ends_the_simulation() -> None:
    conductor = Conductor(0.0)

    def process() -> None:
        raise ValueError("wrong")

    conductor.spawn(1, process)
    with pytest.raises(ValueError, match="wrong"):
        conductor.run(lambda: False)


def test_burst_jobs_are_placed_in_the_same_shards_as_in_production() -> None:
    placement = Placement.of(500, 64).coarser(16)
    assert sum(placement.count(shard) for shard in range(16)) == 500
    for shard in range(16):
        assert all(shard_of(TENANT, job_id(number), 16) == shard for number in placement.numbers(shard))
    with pytest.raises(ValueError, match="multiple"):
        placement.coarser(48)


def test_burst_sample_contains_the_fullest_shard() -> None:
    placement = Placement.of(500, 16)
    assert placement.count(placement.sample(3)[0]) == max(placement.count(shard) for shard in range(16))
    assert len(set(placement.sample(16))) == 16


def test_burst_index_lists_due_jobs_oldest_first_without_claimed_ones() -> None:
    jobs = ShardJobs(range(10), 5)
    (page,) = jobs.pages(BURST + 1, 100)
    assert [cursor.due for cursor in page] == [BURST, BURST, BURST + 1, BURST + 1]
    assert all(jobs.claim(cursor.job_id) for cursor in page)
    assert not jobs.claim(page[0].job_id)
    assert [len(page) for page in jobs.pages(BURST + 60, 4)] == [4, 2]


def test_burst_small_burst_neither_loses_a_job_nor_enqueues_one_twice() -> None:
    enqueued = a_burst(1_000, 4)
    assert enqueued.curve[-1][1] == 1_000
    assert enqueued.visible.total() == 1_000
    assert enqueued.sends_per_job == 1
    assert not enqueued.carried_on
    assert enqueued.last is not None
    assert enqueued.last < 0


def test_burst_message_is_never_visible_before_its_second() -> None:
    enqueued = a_burst(1_000, 4, seconds=10)
    assert min(enqueued.visible) >= BURST * TENTH
    assert max(enqueued.visible) <= (BURST + 10) * TENTH


def test_burst_scenario_gives_the_same_result_twice() -> None:
    tight = replace(PROD, due_writes=400.0)
    assert a_burst(1_000, 4, tight) == a_burst(1_000, 4, tight)


def test_burst_claims_throttled_for_seconds_succeed_in_the_same_round() -> None:
    enqueued = a_burst(1_000, 4, replace(PROD, due_writes=100.0))
    assert enqueued.refused[DUE_WRITES] > 0
    assert enqueued.sends_per_job == 1


def test_burst_claims_throttled_for_minutes_are_sent_again_without_loss() -> None:
    enqueued = a_burst(1_000, 4, replace(PROD, due_writes=10.0))
    assert enqueued.limited_by == DUE_WRITES
    assert enqueued.refused[DUE_WRITES] > 0
    assert enqueued.sends_per_job > 1


def test_burst_throttled_pages_are_read_later_without_loss() -> None:
    enqueued = a_burst(2_000, 16, replace(PLENTY, due_reads=40.0, dispatchers=16))
    assert enqueued.curve[-1][1] == 2_000
    assert enqueued.sends_per_job == 1
    assert enqueued.waited.get(DUE_READS, 0) > 0
    free = a_burst(2_000, 16, replace(PLENTY, dispatchers=16))
    assert DUE_READS not in free.waited
    assert (enqueued.last or 0) > (free.last or 0)


def test_burst_rounds_begin_no_faster_than_the_shard_queue_allows() -> None:
    few, many = (a_burst(1_000, shards) for shards in (16, 1_024))
    assert 2 * FIFO_CALLS.value < 1_024
    assert CALLS not in few.waited
    assert many.waited.get(CALLS, 0) > 0
    assert many.curve[-1][1] == 1_000


def test_burst_last_job_is_never_enqueued_sooner_than_the_limits_allow() -> None:
    for setting in (PLENTY, PROD, replace(PROD, due_writes=100.0)):
        enqueued = a_burst(1_000, 4, setting)
        assert enqueued.last is not None
        assert enqueued.last >= enqueued.soonest


def test_burst_first_tick_finds_all_jobs_due_within_its_lead() -> None:
    enqueued = a_burst(200, 4, seconds=60)
    assert enqueued.soonest == 59 - 600
    assert enqueued.last is not None
    assert enqueued.soonest <= enqueued.last < enqueued.soonest + 30


def test_burst_back_pressure_of_the_index_delays_the_last_job() -> None:
    lasts = [a_burst(1_000, 4, replace(PLENTY, due_writes=writes)).last for writes in (1e9, 200.0, 50.0)]
    assert all(last is not None for last in lasts)
    assert lasts == sorted(lasts, key=lambda last: last or 0)
    assert lasts[0] != lasts[-1]


def test_burst_more_shards_never_delay_the_last_job_where_the_slot_limits() -> None:
    lasts = [a_burst(4_000, shards).last for shards in (1, 2, 4, 8)]
    assert None not in lasts
    assert all(more <= fewer for fewer, more in pairwise(last for last in lasts if last is not None))


def test_burst_sample_consists_of_whole_dispatchers() -> None:
    for shards in (16, 64, 256, 1_024):
        count = sampled_shards(Scenario(500_000, 1, shards, 300, PROD))
        assert 1 <= count <= shards
        assert count * min(PROD.dispatchers, shards) % shards == 0


def test_burst_starts_are_delayed_by_the_reported_limit() -> None:
    visible, due = Counter({BURST * TENTH: 50_000}), {0: 50_000.0}
    narrow = start(visible, due, replace(PLENTY, pollers=None, lane_concurrency=10), Assumptions())
    slow = start(visible, due, replace(PLENTY, runs_writes=2_000.0, table_quota=2_000.0), Assumptions())
    assert (narrow.limited_by, slow.limited_by) == (LANE, RUNS_WRITES)
    assert slow.last == pytest.approx(50_000 / (2_000 / 2), rel=0.1)
    assert narrow.most_concurrent == 10
    assert slow.last_finished > slow.last


def test_burst_lists_of_runs_delay_the_starts_unless_successes_are_not_listed() -> None:
    visible, due = Counter({BURST * TENTH: 50_000}), {0: 50_000.0}
    narrow, few, none = (
        start(visible, due, replace(PLENTY, **changes), Assumptions())
        for changes in (
            {"ended_writes": 1_000.0, "table_quota": 1e9, "runs_writes": 1e9},
            {"run_index_partitions": 1},
            {"run_index_partitions": 1, "list_successes": False},
        )
    )
    assert (narrow.limited_by, few.limited_by) == (ENDED_WRITES, ENDED_PARTITIONS)
    assert few.last == pytest.approx(50, rel=0.1)
    assert none.last < few.last / 2


def test_burst_overlap_lock_reduces_the_starts_that_the_runs_table_allows() -> None:
    visible, due = Counter({BURST * TENTH: 50_000}), {0: 50_000.0}
    setting = replace(PLENTY, runs_writes=20_000.0, table_quota=20_000.0)
    allowed, locked = (
        start(visible, due, replace(setting, overlap_skip=skip), Assumptions()) for skip in (False, True)
    )
    assert locked.limited_by == RUNS_WRITES
    assert locked.last == pytest.approx(1.5 * allowed.last, rel=0.15)
    assert SHIPPED_LOCKED.overlap_skip


def test_burst_runs_without_overlap_need_reads_of_the_runs_table_as_measured() -> None:
    visible, due = Counter({BURST * TENTH: 50_000}), {0: 50_000.0}
    setting = replace(PLENTY, runs_reads=2_000.0, table_quota=2_000.0, runs_writes=1e9)
    setting = replace(setting, list_successes=False, overlap_skip=True, jobs_reads=1e9)
    found = start(visible, due, setting, Assumptions())
    assert found.limited_by == RUNS_WRITES
    given = replace(Assumptions(), locked_run=replace(Assumptions().locked_run, wru_per_run=0.001, rru_per_run=5.0))
    found = start(visible, due, setting, given)
    assert found.limited_by == RUNS_READS
    assert found.last == pytest.approx(50_000 / (2_000 / 4), rel=0.1)


@pytest.mark.parametrize(
    ("shards", "due_writes", "accepted"),
    [
        (16, 4_000.0, (2_500, 3_300)),
        (32, 20_000.0, (6_000, 11_000)),
        (1_024, 4_000.0, (3_700, 4_000)),
        (4, 10.0, (10, 10)),
    ],
)
def test_burst_slots_share_the_partitions_of_the_index_unevenly(
    shards: int, due_writes: float, accepted: tuple[float, float]
) -> None:
    found = Scenario(500_000, 1, shards, 300, replace(PROD, due_writes=due_writes)).due_writes
    assert accepted[0] <= found <= accepted[1]


def test_burst_cpu_time_comes_from_the_results_of_the_other_benchmarks() -> None:
    dispatch = {"cases": {"distinct": {"cpu_ms_per_firing": 0.19}}}
    execute = {"cases": {"http": {"cpu_ms_per_run": 5.1}}}
    found = with_counts(Counts.from_results(dispatch, execute))
    assert (found.dispatch_cpu, found.execute_cpu) == (pytest.approx(0.000_19), pytest.approx(0.005_1))
    assert with_counts(Counts.from_results(None, None)) == Assumptions()
    locked = {"cases": {"http_overlap_skip": {"wru_per_run": 3.5, "rru_per_run": 4}}}
    run = with_counts(Counts.from_results(None, locked)).locked_run
    assert (run.wru_per_run, run.rru_per_run) == (3.5, 4.0)


def test_burst_every_scenario_uses_the_given_assumptions() -> None:
    given = replace(Assumptions(), dispatch_cpu=0.5)
    for quick in (True, False):
        found = scenarios(given, quick=quick)
        assert {scenario.assumptions for scenario in found} == {given}
        assert {"prod", SHIPPED_LOCKED.name, "sizing", JUDGED} <= {scenario.setting.name for scenario in found}


def test_burst_lateness_is_measured_from_the_due_second_of_each_job() -> None:
    assert lateness([(1.0, 10.0), (3.0, 10.0)], {0: 10, 1: 10}) == {"p50": 1.0, "p99": 2.0, "max": 2.0}


def test_burst_report_names_the_limit_and_the_remedy() -> None:
    scenario = Scenario(1_000, 1, 4, 300, replace(PROD, due_writes=10.0))
    document = simulate(scenario, Placement.of(1_000, 4)).document()
    text = " ".join(" ".join(report([document], Assumptions())).split())
    assert document["enqueue_limited_by"] == DUE_WRITES
    assert DUE_WRITES in text
    assert "warm throughput of the index due" in text
    assert all(limit.name in text and limit.source in text for limit in LIMITS)


@pytest.mark.parametrize(
    ("last", "p99", "met"),
    [(-3.5, 9.5, [True, True]), (0.5, 9.5, [False, True]), (-3.5, 24.0, [True, False]), (None, None, [False, False])],
)
def test_burst_budget_has_two_halves(last: float | None, p99: float | None, met: list[bool]) -> None:
    document = {
        "jobs": 500_000,
        "shards": SIZING_SHARDS,
        "workers": JUDGED,
        "last_enqueued_seconds": last,
        "lateness_seconds": None if p99 is None else {"p99": p99},
    }
    assert list(budgets([document]).values()) == met
    assert not any(budgets([]).values())


def test_burst_first_scenarios_are_the_shipped_stage_with_default_policies_first() -> None:
    first, second, *_ = scenarios(Assumptions(), quick=False)
    assert (first.setting.name, second.setting.name) == ("prod, overlap skip", "prod")
    assert {first.shards, second.shards} == {STAGES["prod"].shards}


def test_burst_with_prescale_stays_within_its_budget_each_night_until_all_throughput_is_paid() -> None:
    for nights in (FOR_ONE, FOR_THREE):
        assert all(night.pollers_dollars + night.warm_dollars <= DOLLARS + 0.01 for night in nights)
        assert [night.warm_dollars > 0 for night in nights] == [True] * (len(nights) - 1) + [False]
        assert {night.pollers for night in nights} == {200}
        for before, after in pairwise(nights):
            assert all(after.units[name] >= units for name, units in before.units.items())


def test_burst_with_prescale_starts_faster_in_three_lanes_with_separate_functions() -> None:
    visible = Counter({(BURST - 1) * TENTH: 500_000})
    one, three = (start(visible, {0: 500_000}, each, Assumptions()) for each in (PRESCALED, PRESCALED_LANES))
    assert three.lateness["p99"] < one.lateness["p99"] / 2
    assert three.most_concurrent <= 3 * 2_000


def test_burst_and_prescale_expect_the_same_units_of_a_run() -> None:
    run = DOCUMENTED_LOCKED_RUN
    assert (run.wru_per_run, run.list_wru_per_run) == (prescale.RUN_WRITES, prescale.LIST_WRITES)
    assert run.rru_per_run == prescale.RUN_READS + prescale.JOB_READS
    assert INDEX_WRITES.value == prescale.CLAIM_WRITES
