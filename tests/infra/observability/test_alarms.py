"""Each alarm goes off when that happens which it is there for, and stays silent while all is well."""

import json
import re
from dataclasses import replace

import pytest

from benchmarks.found import result_of
from duecourse.cli.local.demo.dead_letters import DEPTH_METRIC
from duecourse.domain.jobs.job import Backoff, Completion, Overlap, RetryPolicy
from duecourse.domain.runs.states import RunState
from duecourse.domain.targets.targets import Failed, Outcome, Returned
from duecourse.messages import MessageKind
from duecourse.ports import Call
from infra.settings.config import ConfigError
from infra.stages import STAGES as STAGES_BY_NAME
from tests.support.alarm_cases import CASES, dispatch
from tests.support.alarm_evaluator import ALARM, MetricAlarm
from tests.support.jobs import NOON, job
from tests.support.observed import Observed
from tests.support.stage_alarms import Judge, alarms, billed_metrics, section_of, watched
from tests.support.tables import Tables
from tests.support.template import ROOT, resources, template

STAGES = ("local", "dev", "prod")
LANES = ("High", "Normal", "Low", "Long")
SOON_AGAIN = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, min_seconds=5, max_seconds=5)
MAX_ALARMS, MAX_METRICS = 25, 10
"""What is shown to operators of a stage; what metric math takes in one alarm (Amazon CloudWatch User Guide)."""


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function's environment as far as its telemetry goes: what else it needs is missing."""
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "duecourse")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Duecourse/prod")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "duecourse-test")


def lane_of(failure: str) -> str:
    """The lane that a failure is about, if it is about one."""
    return next((lane.lower() for lane in LANES if failure.removesuffix("Bulk").endswith(lane)), "normal")


def validate_draft(observed: Observed, stage: str = "prod") -> Judge:
    """What goes off from noon to now."""
    return Judge(stage, observed.data, NOON, observed.world.clock.now())


@pytest.mark.parametrize("name", sorted(CASES))
def test_alarms_fire_when_their_failures_happen(name: str, tables: Tables) -> None:
    failure, alarm = CASES[name]
    observed = Observed(tables, lane=lane_of(name), bulk=name.endswith("Bulk"))
    failure(observed)
    assert validate_draft(observed).goes_off(alarm)


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_of_a_stage_each_have_a_failure_that_tests_them(stage: str) -> None:
    """Where each metric has an alarm of its own, that one's name goes on with a label."""
    tried = {alarm for _, alarm in CASES.values()}
    assert [name for name in alarms(stage) if not any(name.startswith(each) for each in tried)] == []


def test_alarms_cover_every_failure_case() -> None:
    assert {alarm for _, alarm in CASES.values()} == set(alarms("prod"))


def test_alarms_each_stage_has_few_and_none_exceeds_the_metric_math_limit() -> None:
    assert len(alarms("prod")) <= MAX_ALARMS
    assert max(len(watched(each)) for each in alarms("prod").values()) <= MAX_METRICS


def test_alarms_page_of_operations_has_the_numbers_of_alarms_pages_and_metrics() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    pages = sum(each["AlarmDescription"].startswith("[page]") for each in alarms("prod").values())
    assert f"Prod has {len(alarms('prod'))} alarms, {pages} of which are pages." in page
    assert f"each metric that an alarm watches ({billed_metrics('prod')} in prod)" in page


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_no_alarm_counts_on_fill(stage: str) -> None:
    """AWS does not say whether it completes a metric that never had data."""
    assert [name for name, each in alarms(stage).items() if "FILL(" in json.dumps(each)] == []


def test_alarms_published_costs_match_the_metrics_that_alarms_watch() -> None:
    published = result_of("cost")
    assert published is not None
    assert published["counts"]["alarm_metrics"] == billed_metrics("prod"), 'run make bench BENCH="--only cost"'


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_notify_the_topic_of_their_severity_at_start_and_end(stage: str) -> None:
    topics = {name: template(stage)["Outputs"][f"{name}TopicArn"]["Value"] for name in ("Pages", "Tickets")}
    severities = {"page": topics["Pages"], "ticket": topics["Tickets"]}
    for name, each in alarms(stage).items():
        severity = each["AlarmDescription"].partition("]")[0].removeprefix("[")
        expected = [] if name == "release-failing" else [severities[severity]]
        assert each.get("AlarmActions", []) == expected, name
        assert each.get("OKActions", []) == expected, name


def test_alarms_email_address_is_subscribed_to_pages_and_tickets_and_to_nothing_else() -> None:
    made = template("dev", alarm_email="ops@example.com")
    subscribed = [each for each in made["Resources"].values() if each["Type"] == "AWS::SNS::Subscription"]
    assert {(each["Properties"]["Endpoint"], each["Properties"]["Protocol"]) for each in subscribed} == {
        ("ops@example.com", "email")
    }
    topics = [made["Outputs"][f"{name}TopicArn"]["Value"] for name in ("Pages", "Tickets")]
    assert [each["Properties"]["TopicArn"] for each in subscribed] == topics


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_description_names_stage_job_search_and_runbook_section(stage: str) -> None:
    for name, each in alarms(stage).items():
        described = each["AlarmDescription"]
        assert 100 < len(described) < 1024, name
        assert each["AlarmName"] == f"Duecourse/{stage}/{name}"
        assert f"] Stage {stage}: " in described
        assert " First step: " in described
        assert re.search(r" Find: (filter |duecourse |GET )", described), name
        assert name.startswith(section_of(each))


def test_alarms_runbooks_are_linked_if_the_stage_configures_the_docs_address() -> None:
    config = replace(STAGES_BY_NAME["prod"], docs_url="https://example.com/duecourse/docs")
    assert config.runbooks == "https://example.com/duecourse/docs/runbooks.md"
    with pytest.raises(ConfigError, match="docs_url must be an address"):
        replace(config, docs_url="docs")


@pytest.mark.parametrize("lane", ["high", "normal", "low", "long"])
def test_alarms_none_fires_while_jobs_are_on_time_with_isolated_faults(lane: str, tables: Tables) -> None:
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
    observed.minutes(10)
    assert len(observed.world.caller.calls) > 80
    assert validate_draft(observed).all_that_tell() == set()


def fails_at_first(call: Call) -> Outcome:
    """The first attempt of one run in ten minutes."""
    first = call.run.attempt == 1 and call.job.id == "job-0" and call.run.occurrence % 600 == 0
    return Failed("HTTP 500") if first else Returned()


def test_alarms_none_fires_while_runs_wait_for_each_other_as_configured(tables: Tables) -> None:
    """Each takes two minutes and one comes due every minute, so they wait for longer and longer."""
    observed = Observed(tables)
    observed.world.add(job("rate(60 seconds)", id="queued", overlap=Overlap.QUEUE, completion=Completion.CALLBACK))

    def complete() -> None:
        for run in observed.world.runs("queued"):
            if run.state is RunState.WAITING and observed.world.clock.now() - (run.started_at or NOON) > 100:
                observed.world.tell(observed.world.about(run, MessageKind.COMPLETE))

    observed.minutes(24, each=complete)
    assert max(run.lateness for run in observed.world.runs("queued") if run.lateness is not None) > 300
    assert validate_draft(observed).all_that_tell() == set()


def test_alarms_do_not_page_for_a_failing_target(tables: Tables) -> None:
    observed = Observed(tables)
    observed.world.caller.answer = lambda call: Failed("no", retryable=False) if call.job.id == "ill" else Returned()
    for name in ("ill", "well", "fine"):
        observed.world.add(job("rate(60 seconds)", id=name))
    observed.minutes(16)
    assert validate_draft(observed).all_that_tell() == {"jobs-need-attention"}


def test_alarms_stopped_tick_is_detected_before_a_run_can_be_late(tables: Tables) -> None:
    observed = Observed(tables)
    observed.minutes(10)
    last = observed.world.clock.now()
    observed.minutes(10, ticking=False)
    states = MetricAlarm(alarms("prod")["ticks-missing"]).states(observed.data, NOON + 60, observed.world.clock.now())
    silent = (states.index(ALARM) + 1) * 60 + NOON - last  # until the end of the minute at which it is in ALARM
    assert 180 <= silent <= 360


def test_alarms_two_stages_of_an_account_share_no_duecourse_metric() -> None:
    dev, prod = (
        {
            (each["Namespace"], each["MetricName"])
            for alarm in resources(stage, "AWS::CloudWatch::Alarm").values()
            for each in watched(alarm["Properties"])
            if not each["Namespace"].startswith("AWS/")
        }
        for stage in ("dev", "prod")
    )
    assert len(dev) >= 2
    assert dev & prod == set()
    assert {namespace for namespace, _ in prod} == {"Duecourse/prod"}


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_none_is_composite_and_local_ones_use_a_single_metric(stage: str) -> None:
    assert resources(stage, "AWS::CloudWatch::CompositeAlarm") == {}
    assert stage != "local" or not any("Metrics" in each for each in alarms(stage).values())


def test_alarms_local_dead_letter_queue_depth_fires_only_its_own_alarm() -> None:
    """The emulator's alarms know metrics by their names alone, and `duecourse local` tells it that depth."""
    assert [name for name, each in alarms("local").items() if each["MetricName"] == DEPTH_METRIC] == [
        "jobs-need-attention"
    ]


@pytest.mark.parametrize("stage", STAGES)
def test_alarms_treat_missing_data_as_breaching_only_for_what_a_rule_starts(stage: str) -> None:
    breaching = {name for name, each in alarms(stage).items() if each["TreatMissingData"] == "breaching"}
    assert breaching == {"ticks-missing"}


def test_alarms_none_fires_while_idle(tables: Tables) -> None:
    observed = Observed(tables)
    observed.minutes(30)
    assert validate_draft(observed).all_that_tell() == set()
