"""duecourse tzdata-report: the jobs that other time zone data change, over an address that answers like the API."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import tzdata
from click.testing import Result

from schedules.tests.support.zone_data import package_with
from tests.unit.cli.served import duecourse, served

HERE: str = tzdata.__version__
OPEN = {"state": "ACTIVE", "dst_gap": "next", "dst_fold": "first", "anchor": None, "start": None, "end": None}
JOBS = [
    OPEN | {"id": name, "schedule": schedule, "timezone": zone, "exclude": [], "calendar": None, "on_excluded": "skip"}
    for name, schedule, zone in (
        ("nightly", "30 3 * * *", "Europe/Berlin"),
        ("hourly", "0 * * * *", "Europe/Berlin"),
        ("tokyo", "30 2 * * *", "Asia/Tokyo"),
        ("by-hand", None, "Europe/Berlin"),
    )
]


@pytest.fixture
def api() -> Iterator[str]:
    """A stage with the time zone data of this machine, and four jobs on two pages."""

    def answer(path: str, query: Mapping[str, str]) -> object:
        match path:
            case "/v1/schedules/preview":
                return {"tzdata": HERE, "occurrences": []}
            case "/v1/stats":
                return {"jobs": {"count": len(JOBS)}}
            case "/v1/calendars/closed":
                return {"id": "closed", "exclude": ["2026-01-01/2036-12-31"]}
        second = "cursor" in query
        return {"items": JOBS[2:] if second else JOBS[:2], "next_cursor": None if second else "2"}

    with served(answer) as address:
        yield address


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Zone data with which Berlin has no summer time any longer."""
    return package_with(tmp_path, "2099.1", Berlin="Africa/Algiers")


def report(api: str, *arguments: str) -> Result:
    return duecourse(api, "tzdata-report", *arguments)


def test_jobs_that_change_are_listed_with_their_first_change(api, package):
    done = report(api, "--tzdata", str(package), "--json")
    assert done.exit_code == 2
    told = json.loads(done.output)
    assert (told["from"], told["to"]) == (HERE, "2099.1")
    (nightly,) = told["items"]
    assert (nightly["job"], nightly["complete"]) == ("nightly", True)
    assert (nightly["old"][10:], nightly["new"][10:]) == ("T01:30:00Z", "T02:30:00Z")
    assert 200 < nightly["count"] < 230


def test_the_table_fits_a_terminal_and_ends_with_the_number_of_jobs(api, package):
    done = report(api, "--tzdata", str(package))
    assert done.exit_code == 2
    header, line, last = done.output.splitlines()
    assert header.split()[:2] == ["job", "zone"]
    assert line.split()[:2] == ["nightly", "Europe/Berlin"]
    assert last == f"1 job changes from {HERE} to 2099.1"
    assert max(map(len, (header, line))) <= 80


def test_the_same_data_change_nothing_and_no_job_is_read():
    with served(lambda path, _query: {"tzdata": HERE} if path == "/v1/schedules/preview" else b"") as address:
        done = report(address)
    assert (done.exit_code, done.output) == (
        0,
        f"no jobs change: both versions are {HERE}\n",
    )


def test_a_missing_zone_is_an_error_of_its_jobs(api, tmp_path):
    done = report(api, "--tzdata", str(package_with(tmp_path, "2099.2", Tokyo=None)), "--json")
    assert done.exit_code == 2
    assert json.loads(done.output)["items"] == [
        {"job": "tokyo", "timezone": "Asia/Tokyo", "error": "timezone: Asia/Tokyo is missing from the time zone data"}
    ]


def test_days_of_a_calendar_are_excluded(api, package, monkeypatch):
    monkeypatch.setitem(JOBS[0], "calendar", "closed")
    assert report(api, "--tzdata", str(package)).exit_code == 0


def test_the_data_may_be_a_wheel_or_a_folder_of_zone_files(api, package, tmp_path):
    wheel = shutil.make_archive(str(tmp_path / "tzdata-2099.1-py2.py3-none-any"), "zip", package, "tzdata")
    assert "to 2099.1" in report(api, "--tzdata", wheel).output
    assert "1 job changes" in report(api, "--tzdata", str(package / "tzdata" / "zoneinfo")).output


@pytest.mark.parametrize("path", ["missing", "."])
def test_a_path_without_zone_data_is_an_error_with_the_remedy(api, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = report(api, "--tzdata", path)
    assert done.exit_code == 1
    assert len(done.output.splitlines()) == 1
    assert done.output.startswith("duecourse: ")
