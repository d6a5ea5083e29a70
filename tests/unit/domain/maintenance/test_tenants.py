"""How the figures of tenants add up."""

from duecourse.checks.tenants import InProgress, TenantFigures, figures_of
from duecourse.domain.jobs.cursor import slot_of
from duecourse.domain.jobs.job import Job
from duecourse.domain.maintenance.index import Entry
from duecourse.domain.maintenance.tenants import MAX_NAMED, OTHERS, counted, expected_runs, rows
from tests.support.jobs import NOON, cursor, job

ONE = TenantFigures(jobs=1)


def entry(made: Job, *, listed: bool = True) -> Entry:
    found = cursor(made)
    slot = slot_of(found.due or 0, 0) if listed else None
    return Entry(("", ""), made.tenant, made.id, slot, found.due, found)


def test_tenants_figures_of_several_pages_add_up() -> None:
    first = counted({}, [("acme", ONE), ("globex", ONE), ("acme", TenantFigures(quota_used=3))])
    second = counted(first, [("acme", TenantFigures(quota_used=-1, runs=24)), ("acme", TenantFigures(state="erased"))])
    assert second == {"acme": TenantFigures(1, 0, 2, 24, "erased"), "globex": ONE}
    assert first["acme"].state == "active"


def test_tenants_beyond_the_limit_are_counted_together_and_none_is_in_two_places() -> None:
    found = counted({}, [("a", ONE), ("b", ONE), ("c", TenantFigures(state="suspended")), ("d", ONE)], most=2)
    assert counted(found, [("c", ONE), ("a", ONE)], most=2) == {
        "a": TenantFigures(jobs=2),
        "b": ONE,
        OTHERS: TenantFigures(jobs=2),
    }


def test_tenants_report_of_a_thousand_tenants_fits_into_an_item() -> None:
    longest = len('"":[1000000,1000000,1000000,1000000000,"suspended"],') + 64
    assert MAX_NAMED * longest < 400 * 1024 / 2  # the other half is for the position and its counts


def test_tenants_expected_runs_are_those_of_the_next_day() -> None:
    assert expected_runs(entry(job("0 * * * *")), NOON) == 24
    assert expected_runs(entry(job("rate(1 minute)")), NOON) == 1440
    assert expected_runs(entry(job("0 3 1 1 *")), NOON) == 0
    assert expected_runs(entry(job("0 * * * *"), listed=False), NOON) == 0


def test_tenants_rows_have_the_runs_in_progress_and_the_largest_tenant_first() -> None:
    runs = {"acme": InProgress(1, 2, NOON), "new": InProgress(1), "late": InProgress(0, 1, NOON - 5)}
    found = rows({"acme": ONE, "globex": TenantFigures(jobs=5)}, runs, most=3)
    assert [(row.tenant, row.figures.jobs, row.runs) for row in found] == [
        ("globex", 5, InProgress()),
        ("acme", 1, runs["acme"]),
        ("late", 0, runs["late"]),
        (OTHERS, 0, runs["new"]),
    ]


def test_tenants_oldest_waiting_run_is_the_one_that_began_to_wait_first() -> None:
    runs = InProgress().with_run("WAITING", NOON).with_run("QUEUED", NOON - 60).with_run("RUNNING", NOON - 99)
    assert (runs, runs.oldest_waiting_seconds(NOON + 1)) == (InProgress(1, 2, NOON - 60), 61)
    assert runs.joined(InProgress(0, 1, NOON - 70)).oldest_waiting_seconds(NOON) == 70
    assert InProgress(1).joined(InProgress()).oldest_waiting_seconds(NOON) is None


def test_tenants_items_that_only_reserve_an_id_or_limit_requests_add_nothing() -> None:
    assert figures_of({"PK": {"S": "JOB#acme#a"}, "SK": {"S": "JOB"}}) is None
    assert figures_of({"PK": {"S": "TENANT#acme"}, "SK": {"S": "RATE"}, "full_at": {"N": "1"}}) is None
