"""duecourse explain --last-night: every occurrence of a night, in as few lines as it has outcomes.

The night is relative to the clock of this machine, so the stage's clock is there, too.
"""

import json
from datetime import UTC, datetime, timedelta

from duecourse.cli.commands.explain import night_document
from duecourse.cli.night import MAX_GROUPS, MAX_OCCURRENCES, Night, explain_night
from duecourse.cli.when import last_night
from duecourse.client import Client
from duecourse.domain.jobs.job import Job, JobState
from duecourse.domain.runs.states import RunState
from duecourse.testing.clock import SettableClock
from duecourse.testing.stores import MemoryStores
from duecourse_schedules import ScheduleSpec
from tests.support.api import ApiClient
from tests.support.jobs import NOON, cursor
from tests.support.jobs import job as stored_job
from tests.support.runs import run as stored_run
from tests.support.served_api import served_api
from tests.unit.cli.served import duecourse

DAY = 86_400
EVENING, MORNING = (datetime(2026, 11, day, hour, tzinfo=UTC) for day, hour in ((20, 18), (21, 8)))


class Nightly:
    """A job of the stage, and what came of its occurrences."""

    def __init__(
        self, expression: str, *, now: float = NOON, created: float = NOON - 10 * DAY, **changes: object
    ) -> None:
        self.api = ApiClient.over(MemoryStores(), SettableClock(now))
        self.job: Job = stored_job(expression, id="backup", at=created, **changes)
        assert self.api.jobs.create(self.job, cursor(self.job, now))

    def came_to(self, state: RunState, begin: datetime, count: int, step: int = 60, **changes: object) -> None:
        """Record this many runs."""
        for number in range(count):
            after = int(begin.timestamp() - NOON) + number * step
            assert self.api.runs.write(stored_run(self.job, state, after=after, **changes), None) is None

    def explained(self, most: int = MAX_OCCURRENCES) -> tuple[Night, int]:
        """The explanation of the night, and the number of requests."""
        with served_api(self.api) as server, Client(server.address) as client:
            job = client.get_job("backup")
            return explain_night(client, job, EVENING, MORNING, most=most), len(server.asked) - 1


def told(night: Night) -> list[tuple[str, str, int, str]]:
    """First, last, number and verdict of each group."""
    return [(f"{g.first:%H:%M}", f"{g.last:%H:%M}", g.count, g.explained.verdict) for g in night.groups]


def test_explain_night_all_occurrences_of_a_job_of_every_minute_are_explained_and_equal_ones_at_once() -> None:
    stage = Nightly("* * * * *")
    stage.came_to(RunState.SUCCEEDED, EVENING, 300)
    stage.came_to(RunState.DEAD, EVENING + timedelta(minutes=300), 2, reason="attempts_exhausted", code="http.500")
    stage.came_to(RunState.SUCCEEDED, EVENING + timedelta(minutes=302), 538)
    night, requests = stage.explained()
    assert night.count == 840
    assert told(night) == [
        ("18:00", "22:59", 300, "fired"),
        ("23:00", "23:01", 2, "fired"),
        ("23:02", "07:59", 538, "fired"),
    ]
    assert [group.explained.sentence[:15] for group in night.groups] == [
        "It ran and succ",
        "It is dead afte",
        "It ran and succ",
    ]
    assert (night.since, night.left_out, night.consecutive) == (None, None, True)
    assert requests == 9 + 9 + 3, "previews and records by the hundred, and one explanation of each group"


def test_explain_night_occurrences_without_a_record_are_divided_where_the_verdict_changes() -> None:
    paused = EVENING + timedelta(hours=3, seconds=30)
    at = paused.timestamp()
    stage = Nightly("* * * * *", state=JobState.PAUSED, paused_at=at, changed_at=at, paused_by="anna", now=at)
    stage.api.clock.set(NOON)
    stage.came_to(RunState.SUCCEEDED, EVENING, 181)
    night, requests = stage.explained()
    assert told(night) == [("18:00", "21:00", 181, "fired"), ("21:01", "07:59", 659, "paused")]
    assert "by anna" in night.groups[1].explained.sentence
    assert requests < 20


def test_explain_night_instants_before_the_job_existed_are_no_occurrences() -> None:
    created = EVENING + timedelta(hours=13)
    stage = Nightly("* * * * *", created=created.timestamp())
    stage.came_to(RunState.SUCCEEDED, created + timedelta(minutes=1), 59)
    night, _ = stage.explained()
    assert told(night) == [("07:01", "07:59", 59, "fired")]
    assert (night.count, night.since) == (59, created)


def test_explain_night_job_that_is_younger_than_the_night_has_no_occurrence_in_it() -> None:
    night, requests = Nightly("* * * * *", created=NOON - 60).explained()
    assert (night.count, night.groups, requests) == (0, (), 2)
    assert night.since == datetime.fromtimestamp(NOON - 60, UTC)


def test_explain_night_occurrences_of_an_earlier_schedule_are_those_that_have_a_record() -> None:
    stage = Nightly("30 4 * * *", changed_at=NOON - 60)
    stage.came_to(RunState.SUCCEEDED, EVENING + timedelta(hours=1), 3, step=3600)
    night, _ = stage.explained()
    assert ("19:00", "21:00", 3, "fired") in told(night)
    assert night.count == 4


def test_explain_night_runs_on_request_are_those_of_a_job_without_a_schedule() -> None:
    stage = Nightly("", schedule=ScheduleSpec(""))
    stage.came_to(RunState.SUCCEEDED, EVENING + timedelta(hours=1), 1)
    night, _ = stage.explained()
    assert told(night) == [("19:00", "19:00", 1, "fired")]


def test_explain_night_outcomes_that_alternate_are_grouped_by_the_outcome_alone() -> None:
    stage = Nightly("*/10 * * * *")
    for number in range(84):
        state = RunState.DEAD if number % 2 else RunState.SUCCEEDED
        stage.came_to(state, EVENING + timedelta(minutes=10 * number), 1)
    night, _ = stage.explained()
    assert MAX_GROUPS < 84
    assert not night.consecutive
    assert told(night) == [("18:00", "07:40", 42, "fired"), ("18:10", "07:50", 42, "fired")]


def test_explain_night_what_is_left_out_is_said() -> None:
    stage = Nightly("* * * * *")
    stage.came_to(RunState.SUCCEEDED, EVENING, 840)
    night, _ = stage.explained(most=250)
    assert told(night) == [("18:00", "22:09", 250, "fired")]
    assert night.left_out == EVENING + timedelta(minutes=250)
    assert night_document(night).get("left_out") == "2026-11-20T22:10:00Z"
    whole, _ = stage.explained()
    assert "left_out" not in night_document(whole)


def test_explain_night_command_says_the_range_the_number_and_the_reason() -> None:
    begin, end = last_night(UTC, datetime.now(UTC))
    stage = Nightly("0 * * * *", now=end.timestamp() + 1, created=begin.timestamp() - DAY)
    stage.came_to(RunState.SUCCEEDED, begin, 1 + int((end - begin).total_seconds() - 1) // 3600, step=3600)
    with served_api(stage.api) as server:
        shown = duecourse(server.address, "explain", "backup", "--last-night").stdout.splitlines()
        items = json.loads(duecourse(server.address, "explain", "backup", "--last-night", "--json").stdout)["items"]
    assert shown[0].startswith(f"{begin:%Y-%m-%d} 18:00:00Z to ")
    assert "occurrence" in shown[0]
    assert "fired" in shown[1]
    assert "It ran and succeeded" in shown[1]
    assert "duecourse runs show backup." in shown[2]
    assert len(shown) == 3
    assert items[0]["first"] == f"{begin:%Y-%m-%d}T18:00:00Z"
    assert items[0]["count"] >= 1
