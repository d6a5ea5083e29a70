"""The newest runs of all jobs, put in order by the command."""

from datetime import UTC, datetime

from duecourse.cli.newest_runs import newest_runs
from duecourse.client import Page
from duecourse.client.models import Run
from duecourse.client.pagination import Searched


def run(job_id: str, at: str) -> Run:
    return Run.from_document(
        {"id": f"{job_id}.20261121T{at}00Z", "job_id": job_id, "state": "SUCCEEDED"}
        | {"occurrence": f"2026-11-21T{at[:2]}:{at[2:]}:00Z"}
    )


A, B, C, D = run("a", "0300"), run("b", "0300"), run("a", "0200"), run("b", "0100")


def searched(hour: int | None, jobs: int = 0) -> Searched:
    return Searched(None if hour is None else datetime(2026, 11, 21, hour, 30, tzinfo=UTC), jobs)


def pages(*given: tuple[list[Run], Searched]) -> Page[Run]:
    """The first of these pages."""

    def page(number: int) -> Page[Run]:
        items, how = given[number]
        following = str(number + 1) if number + 1 < len(given) else None
        return Page(tuple(items), following, lambda cursor: page(int(cursor)), searched=how)

    return page(0)


def test_newest_runs_are_sorted_and_continue_after_the_last_one() -> None:
    first = pages(([C, B], searched(None, 40)), ([A], searched(2)), ([D], searched(None)))
    assert newest_runs(first, 2) == Page((A, B), B.id)
    assert newest_runs(first, 1) == Page((A,), A.id)
    assert newest_runs(first, 4) == Page((A, B, C, D), None)
    assert newest_runs(first, 9) == Page((A, B, C, D), None)
    assert newest_runs(pages(([], searched(None))), 9) == Page((), None)


def test_newest_runs_stop_reading_when_there_are_enough() -> None:
    def unread(_: str) -> Page[Run]:
        raise AssertionError("the next page is not needed")

    assert newest_runs(Page((A, B), "next", unread, searched=searched(2)), 2) == Page((A, B), B.id)
