"""The jobs that every scheduler is given in the benchmark of lateness, and what is made of the calls they made."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.local.jobs import Job, Kind, Window, duecourse_document, first_full_minute, jobs_of, read, written
from benchmarks.local.postgres import version_key, version_of
from benchmarks.local.receiver import Connection, due_of
from benchmarks.local.report import Alone, histogram, report, table
from benchmarks.local.sides import OURS, SIDES, Side
from benchmarks.local.tally import Arrival, Tally, budgets, document, ratio, tally

NOON = 1_795_262_400
"""2026-11-21T12:00:00Z"""

MINUTE = Window(NOON, NOON + 60)
EVERY_MINUTE = Job("minutely-00", Kind.MINUTELY)
EVERY_TEN_SECONDS = Job("ten-seconds", Kind.TEN_SECONDS)
ONCE = Job("once-00", Kind.ONCE, NOON + 7)
JOBS = (EVERY_MINUTE, EVERY_TEN_SECONDS, ONCE)


def a_call(job: Job, due: int, late: float) -> Arrival:
    return Arrival("any", job.id, due, due + late)


def in_time(late: float = 0.05, window: Window = MINUTE) -> list[Arrival]:
    """Every call of the window, so late."""
    return [a_call(job, due, late) for job in JOBS for due in job.occurrences(window.begin, window.end)]


def counted(arrivals: list[Arrival], window: Window = MINUTE) -> Tally:
    return tally(JOBS, arrivals, window)


def test_local_benchmark_occurrences_include_the_first_second_of_the_window_and_exclude_its_end() -> None:
    assert EVERY_MINUTE.occurrences(NOON, NOON + 120) == [NOON, NOON + 60]
    assert EVERY_MINUTE.occurrences(NOON + 1, NOON + 60) == []
    assert EVERY_TEN_SECONDS.occurrences(NOON, NOON + 30) == [NOON, NOON + 10, NOON + 20]
    assert ONCE.occurrences(NOON, NOON + 60) == [NOON + 7]
    assert ONCE.occurrences(NOON + 8, NOON + 60) == []


def test_local_benchmark_call_without_an_occurrence_belongs_to_the_latest_one() -> None:
    assert EVERY_MINUTE.latest(NOON + 59.9) == NOON
    assert EVERY_TEN_SECONDS.latest(NOON + 10.001) == NOON + 10
    assert ONCE.latest(NOON + 9) == NOON + 7


def test_local_benchmark_one_off_jobs_are_spread_over_the_measured_minutes() -> None:
    window = Window(NOON, NOON + 180)
    at = [job.at for job in jobs_of(window, minutely=20, once=30) if job.kind is Kind.ONCE]
    assert len(at) == 30
    assert at[:2] == [NOON + 3, NOON + 9]
    assert at[-1] == NOON + 177


@pytest.mark.parametrize(("minutely", "once"), [(1, 1), (20, 30), (3, 200)])
def test_local_benchmark_every_job_has_a_unique_id_and_becomes_due(minutely: int, once: int) -> None:
    jobs = jobs_of(MINUTE, minutely, once)
    assert len({job.id for job in jobs}) == len(jobs) == minutely + once + 1
    assert all(job.occurrences(MINUTE.begin, MINUTE.end) for job in jobs)


def test_local_benchmark_measured_minutes_begin_at_a_full_minute_far_enough_ahead() -> None:
    assert first_full_minute(NOON - 90, 90) == NOON
    assert first_full_minute(NOON - 89.5, 90) == NOON + 60


def test_local_benchmark_process_of_a_side_reads_the_jobs_written_for_it() -> None:
    assert read(written(JOBS)) == JOBS


def test_local_benchmark_duecourse_gets_the_same_schedules_in_its_own_format() -> None:
    documents = [duecourse_document(job, "http://127.0.0.1:1") for job in JOBS]
    assert [each["schedule"] for each in documents] == ["* * * * *", "*/10 * * * * *", "at(2026-11-21T12:00:07)"]
    assert documents[0]["target"]["url"] == "http://127.0.0.1:1/duecourse/minutely-00"


def test_local_benchmark_calls_in_time_are_neither_lost_nor_duplicated_and_meet_the_budgets() -> None:
    found = counted(in_time())
    assert (found.expected, len(found.late), found.lost, found.doubled) == (8, 8, 0, 0)
    assert all(budgets(found).values())


def test_local_benchmark_calls_of_the_warm_up_and_of_unknown_jobs_are_ignored() -> None:
    warm_up = [a_call(EVERY_MINUTE, NOON - 60, 9), a_call(Job("stranger", Kind.MINUTELY), NOON, 9)]
    assert counted([*warm_up, *in_time()]) == counted(in_time())


def test_local_benchmark_call_that_never_arrives_is_lost() -> None:
    found = counted(in_time()[1:])
    assert found.lost == 1
    assert not budgets(found)["none_lost"]


def test_local_benchmark_occurrence_that_arrives_twice_is_duplicate_with_the_lateness_of_its_first_call() -> None:
    found = counted([a_call(ONCE, NOON + 7, 3), *in_time(0.05)])
    assert found.doubled == 1
    assert found.late[ONCE.id, NOON + 7] == pytest.approx(0.05)
    assert not budgets(found)["none_doubled"]


def test_local_benchmark_call_before_its_second_is_early() -> None:
    found = counted([*in_time(), a_call(ONCE, NOON + 7, -0.001)])
    assert document(found, found)["early"] == 1
    assert not budgets(found)["none_early"]


def test_local_benchmark_median_of_a_tenth_of_a_second_misses_only_the_median_budget() -> None:
    kept = budgets(counted(in_time(0.101)))
    assert not kept["p50_below_100_ms"]
    assert kept["p99_below_1_s"]


def test_local_benchmark_side_without_calls_has_no_figures_and_misses_the_lateness_budgets() -> None:
    found = counted([])
    assert document(found, found)["lateness_seconds"] is None
    assert budgets(found) == {
        "p50_below_100_ms": False,
        "p99_below_1_s": False,
        "none_early": False,
        "none_lost": False,
        "none_doubled": True,
    }


def test_local_benchmark_sides_are_compared_minute_by_minute() -> None:
    window = Window(NOON, NOON + 180)
    ours = counted(in_time(0.1, window), window)
    minutes = [Window(NOON + 60 * number, NOON + 60 * number + 60) for number in range(3)]
    theirs = counted(
        [call for minute, late in zip(minutes, (0.2, 0.5, 0.3), strict=True) for call in in_time(late, minute)], window
    )
    assert ratio(theirs, ours) == {"median": 3.0, "min": 2.0, "max": 5.0}
    assert ratio(counted([]), ours) is None


def test_local_benchmark_each_job_type_has_its_own_figures() -> None:
    found = counted([a_call(EVERY_MINUTE, NOON, 0.7), a_call(ONCE, NOON + 7, 0.002)])
    by_kind = document(found, found)["by_kind"]
    assert by_kind["minutely"]["max"] == 0.7
    assert by_kind["once"]["max"] == 0.002
    assert by_kind["ten_seconds"] is None


def test_local_benchmark_histogram_contains_every_call_and_ends_at_the_last_used_class() -> None:
    found = counted(
        [a_call(EVERY_MINUTE, NOON, 0.0), a_call(ONCE, NOON + 7, 0.05), a_call(EVERY_TEN_SECONDS, NOON, 60)]
    )
    assert found.histogram() == [1, 0, 0, 1, 0, 0, 0, 0, 1]
    assert histogram([1, 0, 80, 0])[0].endswith(" 1 #")
    assert len(histogram([1, 0, 80, 0])) == 3
    assert histogram([0, 0]) == []


def test_local_benchmark_report_names_every_participating_side_and_no_other() -> None:
    tallies = {OURS: counted(in_time(0.01)), "apscheduler": counted(in_time(0.002))}
    made = report(
        tallies, MINUTE, {"minutely": 1, "once": 1, "ten_seconds": 1}, [0.5], ["procrastinate is left out: absent"]
    )
    assert list(made["sides"]) == [OURS, "apscheduler"]
    assert "times_as_late_as_duecourse" not in made["sides"][OURS]
    assert made["sides"]["apscheduler"]["times_as_late_as_duecourse"]["median"] == 0.2
    assert made["notes"][0] == "procrastinate is left out: absent"
    text = table(made)
    assert "apscheduler" in text
    assert "MISSED" not in text


def test_local_benchmark_duecourse_is_judged_alone_and_also_shown_beside_the_others() -> None:
    slow, quick = counted(in_time(0.3)), counted(in_time(0.02))
    made = report({OURS: slow}, MINUTE, {"minutely": 1}, [3.0], [], Alone(quick, [0.4]))
    assert all(made["budgets"].values())
    assert made["alone"]["lateness_seconds"]["p50"] == 0.02
    assert made["alone"]["load_average_of_each_minute"] == [0.4]
    assert made["sides"][OURS]["lateness_seconds"]["p50"] == 0.3
    assert "duecourse alone" in table(made)
    assert not report({OURS: slow}, MINUTE, {"minutely": 1}, [3.0], [])["budgets"]["p50_below_100_ms"]


def test_local_benchmark_report_of_a_side_without_calls_is_readable() -> None:
    assert "MISSED" in table(report({OURS: counted([])}, MINUTE, {"minutely": 1}, [], []))


def test_local_benchmark_side_detects_missing_packages_without_importing_them() -> None:
    assert Side("any", "", "", "", ("json", "no_such_package")).missing == ["no_such_package"]


def test_local_benchmark_compared_packages_are_imported_only_by_their_own_process() -> None:
    rivals = {package for side in SIDES for package in side.packages} | {"matplotlib"}
    code = f"import sys, benchmarks.local.__main__; print(*({rivals!r} & set(sys.modules)))"
    root = Path(__file__).parents[3]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    assert said.stdout.strip() == ""


def test_local_benchmark_occurrence_is_read_from_either_header() -> None:
    assert due_of({"x-duecourse-scheduled-at": "2026-11-21T12:00:07Z"}) == NOON + 7
    assert due_of({"x-due": str(NOON)}) == NOON
    assert due_of({}) == 0


class Wire(asyncio.Transport):
    """Remembers what was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True


def test_local_benchmark_call_is_recorded_and_answered_once_its_body_is_complete() -> None:
    arrivals: list[tuple[str, str, int, float]] = []
    wire, connection = Wire(), Connection(arrivals)
    connection.connection_made(wire)
    connection.data_received(b"POST /apscheduler/once-00 HTTP/1.1\r\nX-Due: 5\r\nContent-Length: 2\r\n\r\n{")
    assert arrivals == []
    connection.data_received(b"}POST /duecourse/minutely-00 HTTP/1.1\r\nX-Due: 6\r\nConnection: close\r\n\r\n")
    assert [each[:3] for each in arrivals] == [("apscheduler", "once-00", 5), ("duecourse", "minutely-00", 6)]
    assert wire.written.count(b"HTTP/1.1 200 OK") == 2
    assert wire.closed


def test_local_benchmark_request_for_the_arrivals_is_not_an_arrival() -> None:
    wire, connection = Wire(), Connection([("a", "b", 1, 2.5)])
    connection.connection_made(wire)
    connection.data_received(b"GET /arrivals HTTP/1.1\r\n\r\n")
    assert wire.written.endswith(b'[["a", "b", 1, 2.5]]')


def test_local_benchmark_newest_server_is_found_by_version_number() -> None:
    folders = [Path("/usr/lib/postgresql") / version / "bin" for version in ("9.6", "15", "13")]
    assert max(folders, key=version_key).parent.name == "15"
    assert version_of("postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)\n") == "15.8"
