"""Each outage pages soon, by a title that names it and a runbook whose first commands show the cause; no busy hour
does.
"""

import re

import pytest

from duecourse.testing.memory.tables import MemoryTables
from tests.support import in_process
from tests.support.alarm_evaluator import ALARM, MetricAlarm
from tests.support.jobs import NOON
from tests.support.observed import Observed
from tests.support.outages import HEALTHY, OUTAGES, TICKETS, Story
from tests.support.stage_alarms import alarms, section_of
from tests.support.tables import Stores, create_tables
from tests.support.template import ROOT

ON_TABLES = {
    *("the jobs table throttles claims", "a hot shard", "an occurrence was lost", "a run is stuck past its lease"),
    "index repair fails",
}


def tables(name: str) -> Stores:
    return create_tables(in_process.dynamodb()) if name in ON_TABLES else MemoryTables()


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
def test_an_outage_pages_in_time_by_a_name_and_with_first_commands_that_show_it(name: str) -> None:
    outage = OUTAGES[name]
    observed = happened(outage.story, name)
    pages = paged(observed)
    assert outage.alarm in pages, pages
    assert pages[outage.alarm] <= outage.seconds
    assert outage.first in first_commands(section_of(alarms("prod")[outage.alarm]))


@pytest.mark.parametrize("name", HEALTHY)
def test_a_busy_hour_pages_nobody(name: str) -> None:
    observed = happened(HEALTHY[name], name)
    assert paged(observed) == {}


@pytest.mark.parametrize("name", TICKETS)
def test_what_can_wait_is_a_ticket_and_no_page(name: str) -> None:
    observed = happened(TICKETS[name], name)
    assert paged(observed) == {}
    ticket = MetricAlarm(alarms("prod")["maintenance-failing"])
    assert ALARM in ticket.states(observed.data, NOON, observed.world.clock.now() + 300)


def test_there_are_at_least_thirty_outages_and_twenty_busy_hours() -> None:
    assert len(OUTAGES) >= 30
    assert len(HEALTHY) >= 20


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_stage_on_aws_pages_for_workers_that_crash(stage: str) -> None:
    name = "every worker of high crashes"
    assert "workers-failing" in paged(happened(OUTAGES[name].story, name, stage))


def test_every_page_is_the_answer_to_an_outage() -> None:
    assert {outage.alarm for outage in OUTAGES.values()} == set(paging("prod"))
