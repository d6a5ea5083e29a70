"""Each alarm goes off when that happens which it is there for, and stays silent while all is well."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.job import Completion, Overlap
from duecourse.domain.retry import Backoff, RetryPolicy
from duecourse.domain.run import RunState
from duecourse.domain.targets import Failed, Outcome, Succeeded
from duecourse.messages import MessageKind
from duecourse.ports import Call
from duecourse_cli.local.dead_letters import DEPTH_METRIC
from tests.support.alarm_cases import CASES, care, dispatch
from tests.support.alarm_evaluator import ALARM, MetricAlarm
from tests.support.jobs import NOON, job
from tests.support.observed import Observed
from tests.support.stage_alarms import Judge, alarms, composites, rule_of, section_of
from tests.support.tables import Tables
from tests.support.template import resources

pytestmark = pytest.mark.emulator

STAGES = ("local", "dev", "prod")
LANES = ("High", "Normal", "Low", "Long")
SOON_AGAIN = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
MEMBERS = (
    *("NoTick", "ShardQueueOld", "DispatchRoundsFailed", "SendsRefused", "ClaimsFailed"),
    *("DispatchErrors", "DispatchThrottles"),
)
SHARED_SECTIONS = (
    *("lateness", "oldestmessage", "workersidle", "functionerrors", "functionthrottles", "functionsilent"),
    *("tablethrottles", "sendsrefused", "eventsrefused", "jobspaused", "pausesfailed"),
)
"""One for several alarms: a lane's, a function's or a table's."""


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function's environment as far as its telemetry goes: what else it needs is missing."""
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "duecourse")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Duecourse/prod")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "duecourse-test")


def lane_of(alarm: str) -> str:
    """The lane that an alarm is about, if it is about one."""
    return next((lane.lower() for lane in LANES if alarm.removesuffix("Bulk").endswith(lane)), "normal")


def judged(observed: Observed, stage: str = "prod") -> Judge:
    """What goes off from noon to now."""
    return Judge(stage, observed.data, NOON, observed.world.clock.now())


@pytest.mark.parametrize("name", sorted(CASES))
def test_an_alarm_goes_off_when_its_failure_happens(name: str, tables: Tables) -> None:
    observed = Observed(tables, lane=lane_of(name), bulk=name.endswith("Bulk"))
    CASES[name](observed)
    assert judged(observed).goes_off(name)


@pytest.mark.parametrize("stage", STAGES)
def test_every_alarm_of_a_stage_has_a_failure_that_it_is_tried_with(stage: str) -> None:
    assert set(alarms(stage)) | set(composites(stage)) <= set(CASES)


def test_every_failure_belongs_to_an_alarm() -> None:
    assert set(CASES) == set(alarms("prod")) | set(composites("prod"))


@pytest.mark.parametrize("lane", ["high", "normal", "low", "long"])
def test_nothing_goes_off_while_jobs_fire_in_time_and_little_goes_wrong_once(lane: str, tables: Tables) -> None:
    """An attempt fails now and then, a round fails, a lane refuses for a minute, a function breaks and is throttled
    once: what repairs itself wakes nobody.
    """
    observed = Observed(tables, lane=lane)
    observed.world.caller.answer = fails_at_first
    for number in range(4):
        observed.world.add(job("rate(60 seconds)", id=f"job-{number}", retry=SOON_AGAIN))
    observed.minutes(10)
    dispatch.one_round_that_fails(observed)
    observed.wheel.refuse = lambda _: True
    observed.minutes(1)
    observed.wheel.refuse = lambda _: False
    for function in ("Tick", "Dispatch", "Api", f"Execute{lane.capitalize()}"):
        observed.of_function(function, "Errors", 1)
        observed.of_function(function, "Throttles", 1)
    observed.of_table("JobsTable", "WriteThrottleEvents", 10)
    observed.minutes(10)
    assert len(observed.world.caller.calls) > 80
    assert judged(observed).all_that_go_off() == set()


def fails_at_first(call: Call) -> Outcome:
    """The first attempt of one run in ten minutes."""
    first = call.run.attempt == 1 and call.job.id == "job-0" and call.run.occurrence % 600 == 0
    return Failed("HTTP 500") if first else Succeeded()


def test_nothing_goes_off_while_runs_wait_for_one_another_as_their_job_wants_it(tables: Tables) -> None:
    """Each takes two minutes and one comes due every minute, so they wait for longer and longer."""
    observed = Observed(tables)
    observed.world.add(job("rate(60 seconds)", id="line", overlap=Overlap.QUEUE, completion=Completion.CALLBACK))

    def complete() -> None:
        for run in observed.world.runs("line"):
            if run.state is RunState.WAITING and observed.world.clock.now() - (run.started_at or NOON) > 100:
                observed.world.tell(observed.world.about(run, MessageKind.COMPLETE))

    observed.minutes(24, each=complete)
    assert max(run.lateness for run in observed.world.runs("line") if run.lateness is not None) > 300
    assert judged(observed).all_that_go_off() == set()


def test_one_failure_of_three_wakes_nobody(tables: Tables) -> None:
    observed = Observed(tables)
    observed.world.caller.answer = lambda call: Failed("no", retryable=False) if call.job.id == "ill" else Succeeded()
    for name in ("ill", "well", "fine"):
        observed.world.add(job("rate(60 seconds)", id=name))
    observed.minutes(16)
    assert not judged(observed).goes_off("FailureRate")


def test_a_tick_that_stops_is_noticed_before_a_run_can_be_late(tables: Tables) -> None:
    observed = Observed(tables)
    observed.minutes(10)
    last = observed.world.clock.now()
    observed.minutes(10, ticking=False)
    states = MetricAlarm(alarms("prod")["NoTick"]).states(observed.data, NOON + 60, observed.world.clock.now())
    silent = (states.index(ALARM) + 1) * 60 + NOON - last  # until the end of the minute at which it is in ALARM
    assert 180 <= silent <= 360


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_what_keeps_jobs_from_firing_is_told_once_by_the_alarm_over_its_causes(stage: str) -> None:
    (composite,) = composites(stage).values()
    silent = {name for name, each in alarms(stage).items() if "AlarmActions" not in each}
    assert silent == set(MEMBERS) - {"NoTick"}
    assert composite["AlarmActions"]
    assert all(f'ALARM("{name}")' in rule_of(composite) for name in MEMBERS)
    assert rule_of(composite).count("ALARM(") == len(MEMBERS)


@pytest.mark.parametrize("name", ["NoTick", "WatermarkBehind", "OldestMessageHigh", "WorkersIdleHigh"])
def test_what_may_follow_or_precede_another_outage_tells_by_itself(name: str) -> None:
    """The alarm over others tells when the first of them goes off, and is silent about those that join it."""
    assert alarms("prod")[name]["AlarmActions"]


def test_two_stages_of_an_account_share_no_metric_of_ours() -> None:
    dev, prod = (
        {
            (each["Namespace"], each["MetricName"])
            for alarm in resources(stage, "AWS::CloudWatch::Alarm").values()
            for each in watched(alarm["Properties"])
            if not each["Namespace"].startswith("AWS/")
        }
        for stage in ("dev", "prod")
    )
    assert len(dev) > 20
    assert dev & prod == set()
    assert {namespace for namespace, _ in prod} == {"Duecourse/prod"}


def test_a_new_stream_that_the_old_event_source_does_not_read_is_noticed(tables: Tables) -> None:
    """A table that was restored under its name has a new one, and of the old one nothing comes any more."""
    observed = Observed(tables)
    care.hours_of_the_stream(observed, 4, read=False)
    assert judged(observed).goes_off("ArchiveSilent")


@pytest.mark.parametrize("told", [True, False], ids=["polls in vain", "is off"])
def test_what_was_written_in_one_hour_of_a_day_and_not_read_is_noticed(tables: Tables, told: bool) -> None:
    """Jobs run at night alone; by the next night the stream has forgotten what expired."""
    observed = Observed(tables)
    care.quiet_hours_of_the_stream(observed, 11, told=told)
    care.hours_of_the_stream(observed, 1, read=False, told=told)
    care.quiet_hours_of_the_stream(observed, 12, told=told)
    assert judged(observed).goes_off("ArchiveSilent")


@pytest.mark.parametrize("told", [True, False], ids=["empty polls count 0", "empty polls count nothing"])
def test_an_archive_of_nightly_jobs_wakes_nobody(tables: Tables, told: bool) -> None:
    """Whichever way Lambda counts what it read in vain; what is written at the end of an hour is read in the next."""
    observed = Observed(tables)
    for _ in range(2):
        care.quiet_hours_of_the_stream(observed, 11, told=told)
        care.hours_of_the_stream(observed, 1, read=False, told=told)
        observed.of_event_source("Archive", "PolledEventCount", 80)
        care.quiet_hours_of_the_stream(observed, 12, told=told)
    assert not judged(observed).goes_off("ArchiveSilent")


@pytest.mark.parametrize("told", [True, False], ids=["empty polls count 0", "empty polls count nothing"])
def test_an_archive_that_reads_or_has_nothing_to_read_wakes_nobody(tables: Tables, told: bool) -> None:
    observed = Observed(tables)
    care.hours_of_the_stream(observed, 3, read=True)
    care.hours_of_the_stream(observed, 2, read=False)  # what was written at the end of an hour is read in the next
    care.hours_of_the_stream(observed, 3, read=True)
    observed.of_function("Archive", "IteratorAge", 1000 * 3600)
    care.quiet_hours_of_the_stream(observed, 6, told=told)
    assert not any(map(judged(observed).goes_off, ("ArchiveSilent", "ArchiveBehind")))


TABLE_THROTTLES = [name for name, each in alarms("prod").items() if section_of(each) == "tablethrottles"]


@pytest.mark.parametrize("name", TABLE_THROTTLES)
def test_an_alarm_on_a_throttled_table_is_ok_again_by_itself_when_it_is_over(name: str, tables: Tables) -> None:
    """DynamoDB tells nothing while all is well, and alarms on what it tells keep their state meanwhile."""
    observed, alarm = Observed(tables), MetricAlarm(alarms("prod")[name])
    CASES[name](observed)
    over = observed.world.clock.now()
    observed.world.clock.advance(3600)
    states = alarm.states(observed.data, NOON, observed.world.clock.now())
    rings = [NOON + 60 * (minute + 1) for minute, state in enumerate(states) if state == ALARM]
    assert rings, "it does not go off"
    assert max(rings) <= over + 900


def test_every_table_and_index_has_an_alarm_on_each_kind_of_throttling() -> None:
    stores = ("Jobs", "Due", "Tenant", "Runs", "Dead")
    assert sorted(TABLE_THROTTLES) == sorted(
        f"{store}{kind}Throttles" for store in stores for kind in ("Read", "Write")
    )


def watched(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm is about."""
    if "MetricName" in alarm:
        return [alarm]
    return [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]


def test_where_there_is_no_alarm_over_others_each_tells_by_itself() -> None:
    assert composites("local") == {}
    assert all(each["AlarmActions"] for each in alarms("local").values())
    assert not any("Metrics" in each for each in alarms("local").values())


def test_on_this_machine_the_depth_of_the_dead_letter_queue_rings_no_other_queues_alarm() -> None:
    """The emulator's alarms know metrics by their names alone, and `duecourse local` tells it that depth."""
    assert [name for name, each in alarms("local").items() if each["MetricName"] == DEPTH_METRIC] == [
        "DeadLettersWaiting"
    ]


@pytest.mark.parametrize("stage", STAGES)
def test_every_alarm_says_what_it_means_and_what_to_do_first_and_where_the_steps_are(stage: str) -> None:
    for name, each in (alarms(stage) | composites(stage)).items():
        described = each["AlarmDescription"]
        assert 100 < len(described) < 1024, name
        assert " First: " in described
        section = section_of(each)
        assert section == name.lower() or section in SHARED_SECTIONS


@pytest.mark.parametrize("stage", STAGES)
def test_only_what_is_started_by_a_rule_is_alarming_where_nothing_is_told(stage: str) -> None:
    breaching = {name for name, each in alarms(stage).items() if each["TreatMissingData"] == "breaching"}
    assert breaching == {"NoTick", "SweepSilent", "PatrolSilent", "AuditSilent"}


def test_nothing_goes_off_while_there_is_nothing_to_do(tables: Tables) -> None:
    observed = Observed(tables)
    observed.minutes(30)
    assert judged(observed).all_that_go_off() == set()
