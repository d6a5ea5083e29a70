"""What comes next, and its first runs.

- The upcoming load over the API: pages of a histogram, which add up.
- What is due within two minutes of a job's creation is sent at once, best effort and without a claim.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.job import Lane
from duecourse.domain.jobs.upcoming import LATE_SECONDS, Window
from duecourse.ports import Outgoing
from duecourse.stores.jobs import JobStore
from duecourse.stores.table import Item, Table
from duecourse.testing.clock import SettableClock
from duecourse.testing.faults import around
from duecourse.testing.stores import MemoryStores, Stores
from duecourse.usecases.jobs.upcoming import FEW_JOBS, LOOKED_SECONDS, Upcoming
from tests.support.api import BODY, ApiClient, api_settings
from tests.support.jobs import NOON, stored_job
from tests.support.limits import MemoryLimits
from tests.support.tables import Tables

UPCOMING = "/v1/upcoming"


def create(api: ApiClient, name: str, schedule: str | None, **changes: Any) -> None:
    answer = api.post(BODY | {"id": name, "schedule": schedule, **changes})
    assert answer.status == 201, answer.text


def counted(api: ApiClient, **query: str) -> Any:
    answer = api.get(UPCOMING, **query)
    assert answer.status == 200, answer.text
    return answer.json


def test_upcoming_next_two_days_are_counted_by_hour(api: ApiClient) -> None:
    create(api, "nightly", "0 3 * * *")
    create(api, "hourly", "0 * * * *")
    create(api, "when-asked", None)
    found = counted(api)
    assert (found["from"], found["to"], found["step"]) == ("2026-11-21T12:00:00Z", "2026-11-23T12:00:00Z", 3600)
    assert (found["runs"], found["jobs"], found["uncounted"], found["next_cursor"]) == (2 + 48, 3, 0, None)
    by_hour = {bucket["at"]: bucket for bucket in found["buckets"]}
    assert len(by_hour) == 48
    assert by_hour["2026-11-22T03:00:00Z"] == {
        "at": "2026-11-22T03:00:00Z",
        "runs": 2,
        "jobs": [{"id": "hourly", "runs": 1}, {"id": "nightly", "runs": 1}],
    }


def test_upcoming_names_as_many_jobs_as_requested(api: ApiClient) -> None:
    for number in range(5):
        create(api, f"job-{number}", "0 * * * *")
    window = {"from": "2026-11-21T12:00:00Z", "to": "2026-11-23T12:00:00Z"}
    (bucket,) = counted(api, **window, step="172800", largest="1000")["buckets"]
    assert bucket["jobs"] == [{"id": f"job-{number}", "runs": 48} for number in range(5)]
    assert len(counted(api, largest="4")["buckets"][0]["jobs"]) == 4
    assert api.get(UPCOMING, step="60", largest="3").status == 200
    answer = api.get(UPCOMING, step="60", largest="4")
    assert answer.status == 400
    assert "must be at most 3 for 2880 intervals; use a longer step" in answer.text


def test_upcoming_busiest_minutes_are_found_with_a_step_of_one_minute(api: ApiClient) -> None:
    for number in range(4):
        create(api, f"job-{number}", f"0,{10 + number} * * * *")
    found = counted(api, **{"from": "2026-11-21T13:00:00Z", "to": "2026-11-21T14:00:00Z", "step": "60"})
    hottest = max(found["buckets"], key=lambda bucket: bucket["runs"])
    assert (hottest["at"], hottest["runs"], len(hottest["jobs"])) == ("2026-11-21T13:00:00Z", 4, 3)
    assert [bucket["runs"] for bucket in found["buckets"]] == [4, 1, 1, 1, 1]


def test_upcoming_paused_and_deleted_jobs_have_no_runs(api: ApiClient) -> None:
    for name in ("kept", "paused", "deleted"):
        create(api, name, "0 * * * *")
    api.ask("/v1/jobs/paused/pause")
    api.delete("/v1/jobs/deleted")
    found = counted(api)
    assert {job["id"] for bucket in found["buckets"] for job in bucket["jobs"]} == {"kept"}
    assert (found["jobs"], found["paused"]) == (2, 1)


def test_upcoming_job_with_a_planned_end_of_its_pause_has_runs_after_the_end(api: ApiClient) -> None:
    create(api, "often", "0 * * * *", max_runs=5)
    end = "2026-11-21T15:00:00Z"
    assert api.post({"until": end}, "/v1/jobs/often/pause").status == 200
    found = counted(api)
    assert [bucket["at"] for bucket in found["buckets"]] == [f"2026-11-21T{hour}:00:00Z" for hour in range(15, 20)]
    assert (found["paused"], found["late"]) == (1, 0)


def test_upcoming_job_is_late_one_minute_after_a_due_run_was_not_enqueued(api: ApiClient) -> None:
    create(api, "hourly", "0 * * * *")
    create(api, "nightly", "0 3 * * *")
    api.clock.advance(3600 + LATE_SECONDS)
    assert (counted(api)["late"], counted(api)["late_jobs"]) == (0, [])
    api.clock.advance(1)
    assert (counted(api)["late"], counted(api)["late_jobs"]) == (1, ["hourly"])


def test_upcoming_jobs_of_other_tenants_are_not_counted(api: ApiClient, tables: Tables) -> None:
    create(api, "mine", "0 * * * *")
    item = {"tenant": {"S": "other"}, "job_id": {"S": "theirs"}}
    tables.client.put_item(
        TableName=tables.jobs,
        Item=item | {"PK": {"S": "JOB#other#theirs"}, "SK": {"S": "JOB"}, "state": {"S": "ACTIVE"}},
    )
    assert counted(api)["jobs"] == 1


def test_upcoming_job_with_an_unreadable_cursor_is_listed_as_uncounted(api: ApiClient, tables: Tables) -> None:
    create(api, "good", "0 * * * *")
    create(api, "broken", "0 * * * *")
    key = {"PK": {"S": "JOB#default#broken"}, "SK": {"S": "CURSOR"}}
    tables.client.delete_item(TableName=tables.jobs, Key=key)
    found = counted(api)
    assert (found["jobs"], found["uncounted"], found["uncounted_jobs"], found["runs"]) == (2, 1, ["broken"], 48)


def test_upcoming_pages_add_up(tables: Tables) -> None:
    api = ApiClient.over(tables)
    for number in range(5):
        create(api, f"job-{number}", "0 */6 * * *")
    coming = Upcoming(api.jobs, tables.delayed_runs(), tables.tick_mark(), api.clock, jobs_read=3)
    window = Window(int(NOON), int(NOON) + 48 * 3600, 21600, int(NOON))
    first = coming.page("default", window, after=None)
    second = coming.page("default", window, after=first.following)
    assert (first.jobs, first.following, second.jobs, second.following) == (3, "job-2", 2, None)
    total: Counter[int] = Counter()
    for page in (first, second):
        total.update({bucket.at: bucket.runs for bucket in page.buckets})
    assert set(total.values()) == {5}
    assert len(total) == 8


def test_upcoming_page_ends_early_after_many_runs_and_continues_with_the_next_job(api: ApiClient) -> None:
    for name in ("a", "b", "c"):
        create(api, name, "rate(1 second)")
    first = counted(api)
    assert (first["jobs"], first["runs"]) == (1, 48 * 3600)
    second = counted(api, cursor=first["next_cursor"])
    third = counted(api, cursor=second["next_cursor"])
    assert ([job["id"] for job in third["buckets"][0]["jobs"]], third["next_cursor"]) == (["c"], None)


def test_upcoming_counting_runs_is_charged(tables: Tables) -> None:
    clock = SettableClock(NOON)
    settings = api_settings(requests_per_second=10, burst=20)
    api = ApiClient.over(tables, clock, settings=settings, counters=MemoryLimits())
    create(api, "a", "rate(1 second)")
    assert api.get(UPCOMING).status == 200
    assert api.get(UPCOMING).status == 429
    clock.advance(60)
    assert api.get(UPCOMING).status == 200


@pytest.mark.parametrize(
    ("schedule", "runs"),
    [
        ("rate(1 second)", 172_800),
        ("*/2 * * * * *", 86_400),
        ("* * * * *", 2_880),
        ("* * 0-22 * * *", 165_600),
        ("0 0 29 2 1", 0),
        ("", 0),
    ],
)
def test_upcoming_cost_of_counting_is_charged_in_advance(tables: Tables, schedule: str, runs: int) -> None:
    clock, paid = SettableClock(NOON), list[int]()
    stored_job(tables.job_store(clock), schedule)
    window = Window(int(NOON), int(NOON) + 48 * 3600, 3600, int(NOON))

    def refuse(requests: int) -> None:
        paid.append(requests)
        raise PermissionError

    with pytest.raises(PermissionError):
        Upcoming(tables.job_store(clock), tables.delayed_runs(), tables.tick_mark(), clock).page(
            "default", window, after=None, charge=refuse
        )
    assert paid[0] - 1 == pytest.approx(runs // 1000, abs=10)


def test_upcoming_past_runs_are_not_counted(api: ApiClient) -> None:
    create(api, "often", "* * * * *")
    api.clock.advance(30)
    found = counted(api, **{"from": "2026-11-21T11:00:00Z", "to": "2026-11-21T13:00:00Z"})
    assert found["runs"] == 59
    assert min(from_iso(bucket["at"]) for bucket in found["buckets"]) == NOON  # the bucket of the present hour


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"from": "now"}, "from"),
        ({"to": "2026-11-21T12:00:00Z"}, "to"),
        ({"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T01:00:00Z"}, "to"),
        ({"from": "2026-11-22T00:00:00Z", "to": "2026-11-24T00:00:01Z"}, "to"),
        ({"from": "2026-11-22T00:00:00Z", "to": "2026-11-22T00:00:00Z"}, "to"),
        ({"step": "59"}, "step"),
        ({"step": "172801"}, "step"),
        ({"step": "1h"}, "step"),
        ({"limit": "10"}, "limit"),
        ({"cursor": "nonsense"}, "cursor"),
    ],
)
def test_upcoming_invalid_query_names_the_parameter(api: ApiClient, query: dict[str, str], parameter: str) -> None:
    answer = api.get(UPCOMING, **query)
    assert (answer.status, list(answer.errors)) == (400, [parameter])


def created(api: ApiClient, **changes: Any) -> Any:
    answer = api.post(BODY | changes)
    assert answer.status == 201, answer.text
    return answer.json


def test_upcoming_runs_of_the_first_two_minutes_are_sent_on_creation_without_a_claim(
    api: ApiClient, clock: SettableClock, tables: Tables
) -> None:
    clock.set(NOON + 0.4)
    created(api, id="steady", schedule="rate(30 seconds)")
    assert [(str(one.message.name), one.delay_seconds) for one in api.wheel.sent] == [
        ("steady.20261121T120030Z", 30),
        ("steady.20261121T120100Z", 60),
        ("steady.20261121T120130Z", 90),
        ("steady.20261121T120200Z", 120),
    ]
    assert tables.job_store(clock).get_cursor("default", "steady").occurrence == NOON + 30


def test_upcoming_runs_sent_on_creation_use_the_lane_and_the_precision_of_the_job(api: ApiClient) -> None:
    created(api, schedule="at(2026-11-21T12:00:20)", priority="low", precision="exact")
    created(api, schedule="at(2026-11-21T12:00:20)", priority="high", timeout_seconds=600)
    low, long = api.wheel.sent
    assert (low.message.lane, low.delay_seconds) == (Lane.LOW, 19)
    assert (long.message.lane, long.delay_seconds) == (Lane.LONG, 20)


def test_upcoming_job_that_is_due_later_sends_nothing_on_creation(api: ApiClient) -> None:
    created(api, schedule="0 0 1 1 *")
    assert api.wheel.sent == []


def test_upcoming_rejected_message_does_not_fail_the_creation(
    api: ApiClient, capsys: pytest.CaptureFixture[str]
) -> None:
    api.wheel.refuse = lambda _: True
    created(api, id="steady")
    line = api.log_lines[-1]
    assert (line["action"], line["job_id"], line["sent"], line["unsent"]) == ("job_created", "steady", 0, 12)
    (refused,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (refused["function"], refused["SendsRefused"]) == ("api", [12.0])


def test_upcoming_queue_error_does_not_fail_the_creation(tables: Tables, clock: SettableClock) -> None:
    class Broken:
        def send(self, _outgoing: Sequence[Outgoing]) -> list[bool]:
            raise ConnectionError("no route to the queue")

    api = ApiClient.over(tables, clock, lanes=Broken())
    created(api, id="steady")
    line = api.log_lines[-1]
    assert (line["unsent"], line["send_error"]) == (12, "ConnectionError: no route to the queue")


MANY = FEW_JOBS + 1


def many(tables: Stores, clock: SettableClock, limited: int = 0) -> ApiClient:
    """The API of a tenant with so many jobs that their cursors are not read. Some are `limited` to five runs."""
    api = ApiClient.over(tables, clock, mark=tables.tick_mark())
    for number in range(MANY):
        create(api, f"job-{number:03}", "0 * * * *", **({"max_runs": 5} if number < limited else {}))
    return api


def test_upcoming_of_many_jobs_reads_only_the_cursors_that_decide(clock: SettableClock) -> None:
    stores, reads = MemoryStores(), Counter[str]()

    def get_many(read: Any, table: Table, keys: Iterable[Item], **given: Any) -> Any:
        wanted = list(keys)
        reads.update(each["SK"]["S"] for each in wanted)
        return read(table, wanted, **given)

    many(stores, clock, limited=3)
    jobs = JobStore(around(stores.both(), get_many=get_many), shards=1, clock=clock)
    coming = Upcoming(jobs, stores.delayed_runs(), stores.tick_mark(), clock)
    window = Window(int(NOON), int(NOON) + 48 * 3600, 3600, int(NOON) + 1)

    def read() -> tuple[int, int]:
        reads.clear()
        page = coming.page("default", window, after=None)
        return page.runs, reads["CURSOR"]

    runs = 47 * (MANY - 3) + 5 * 3
    assert read() == (runs, MANY), "no tick has looked for overdue work"
    stores.tick_mark().mark(clock.now(), frozenset({1}))
    assert read() == (runs, MANY), "a shard has overdue work"
    stores.tick_mark().mark(clock.now(), frozenset())
    assert read() == (runs, 3)
    broken = jobs.get_cursor("default", "job-050")
    assert broken is not None
    stores.cursor_store(clock).quarantine(broken, "it makes no sense")
    assert read() == (runs - 47, 4)
    clock.advance(LOOKED_SECONDS + 1)
    assert read()[1] == MANY, "the last tick was too long ago"


def test_upcoming_of_many_jobs_names_a_late_job_once_a_tick_has_seen_it(clock: SettableClock) -> None:
    stores = MemoryStores()
    api, ticks = many(stores, clock), stores.tick_mark()
    clock.advance(3600 + 61)
    ticks.mark(clock.now(), frozenset())
    assert counted(api)["late"] == 0
    ticks.mark(clock.now(), frozenset({0}))
    found = counted(api)
    assert (found["late"], found["late_jobs"][:2]) == (MANY, ["job-000", "job-001"])
