"""Each outage pages soon, by a title that names it and a runbook whose first commands show the cause; no busy hour
does.
"""

import re

import pytest

from duecourse.testing.stores import MemoryStores, Stores
from tests.support import in_process
from tests.support.alarm_evaluator import ALARM, MetricAlarm
from tests.support.jobs import NOON
from tests.support.observed import Observed
from tests.support.outages import HEALTHY, OUTAGES, TICKETS, Story, outage_table
from tests.support.stage_alarms import alarms, section_of
from tests.support.tables import create_tables
from tests.support.template import ROOT

ON_TABLES = {
    *("the jobs table throttles claims", "a hot shard", "an occurrence was lost", "a run is stuck past its lease"),
    "index repair fails",
}


def tables(name: str) -> Stores:
    return create_tables(in_process.dynamodb()) if name in ON_TABLES else MemoryStores()


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "duecourse")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Duecourse/prod")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "duecourse-test")


def happened(story: Story, name: str, stage: str = "prod") -> Observed:
    observed = Observed(tables(name), stage=stage)
    story(observed)
    return observed


def paging(stage: str) -> dict[str, MetricAlarm]:
    found = alarms(stage).items()
    return {name: MetricAlarm(each) for name, each in found if each["AlarmDescription"].startswith("[page]")}


def paged(observed: Observed) -> dict[str, float]:
    """The alarms that page, each with the seconds since its first datapoint in alarm."""
    found, now = {}, observed.world.clock.now()
    for name, alarm in paging(observed.stage).items():
        states = alarm.states(observed.data, NOON, now + alarm.period)
        if ALARM in states:
            at = NOON + 60 * states.index(ALARM)
            found[name] = at - alarm.first_breach(observed.data, NOON, at)
    return found


def first_commands(section: str) -> str:
    page = (ROOT / "docs" / "runbooks.md").read_text()
    body = re.split(r"^## ", page.partition(f"\n## {section}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(r"```bash\n(.*?)```", body, re.DOTALL)
    assert found is not None, section
    return found[1]


@pytest.mark.parametrize("name", OUTAGES)
def test_outages_each_pages_in_time_with_the_right_alarm_and_a_first_command_that_shows_it(name: str) -> None:
    outage = OUTAGES[name]
    observed = happened(outage.story, name)
    pages = paged(observed)
    assert outage.alarm in pages, pages
    assert pages[outage.alarm] <= outage.seconds
    assert outage.first in first_commands(section_of(alarms("prod")[outage.alarm]))


@pytest.mark.parametrize("name", HEALTHY)
def test_outages_busy_hours_do_not_page(name: str) -> None:
    observed = happened(HEALTHY[name], name)
    assert paged(observed) == {}


@pytest.mark.parametrize("name", TICKETS)
def test_outages_non_urgent_faults_create_a_ticket_and_no_page(name: str) -> None:
    story, alarm = TICKETS[name]
    observed = happened(story, name)
    assert paged(observed) == {}
    ticket = MetricAlarm(alarms("prod")[alarm])
    assert ALARM in ticket.states(observed.data, NOON, observed.world.clock.now() + 300)


def test_outages_number_at_least_thirty_and_busy_hours_at_least_twenty() -> None:
    assert len(OUTAGES) >= 30
    assert len(HEALTHY) >= 20


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_outages_every_aws_stage_pages_for_crashing_workers(stage: str) -> None:
    name = "every worker of high crashes"
    assert "workers-failing" in paged(happened(OUTAGES[name].story, name, stage))


def test_outages_every_paging_alarm_is_covered_by_an_outage() -> None:
    assert {outage.alarm for outage in OUTAGES.values()} == set(paging("prod"))


def test_outages_are_all_in_the_documentation() -> None:
    page = (ROOT / "docs" / "observability.md").read_text()
    assert outage_table() in page, "write the table anew: tests.support.outages.outage_table()"
