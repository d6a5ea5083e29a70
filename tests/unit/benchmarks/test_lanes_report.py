"""What the lanes' benchmark makes of the records it has read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from benchmarks.lanes_report import PRESSED, Report, Start, backlog, report, started_per_second
from duecourse.client.models import Run

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SLOW = timedelta(seconds=20)


def a_start(
    lane: str,
    *,
    due: float = 0,
    late: float | None = 0.1,
    takes: float = 0.2,
    state: str = "SUCCEEDED",
) -> Start:
    """One run, due so many seconds after noon."""
    at = NOON + timedelta(seconds=due)
    started = None if late is None else at + timedelta(seconds=late)
    return Start(
        lane=lane,
        run_id=f"{lane}.{due}",
        state=state,
        due=at,
        started_at=started,
        finished_at=None if started is None else started + timedelta(seconds=takes),
        lateness=late,
    )


LOW = [a_start("low", late=number) for number in range(60)]
LONG = [a_start("long", due=2, takes=21), a_start("long", due=2, takes=20)]
HIGH = [a_start("high", due=second) for second in range(5, 5 + PRESSED)]
NORMAL = [a_start("normal", due=second) for second in range(5, 5 + PRESSED)]


def judged(starts: Sequence[Start], expected: dict[str, int] | None = None) -> Report:
    return report(starts, expected or {"high": PRESSED, "normal": PRESSED, "low": 60, "long": 2}, SLOW, {})


def broken(starts: Sequence[Start]) -> list[str]:
    return [check.name for check in judged(starts).checks if not check.kept]


def test_the_promise_is_kept_when_every_run_of_high_and_normal_starts_in_time_beside_a_backlog() -> None:
    assert broken([*LOW, *LONG, *HIGH, *NORMAL]) == []
    assert judged([*LOW, *LONG, *HIGH, *NORMAL]).kept


def test_a_report_is_broken_by_one_run_that_starts_after_two_seconds() -> None:
    late = [*HIGH[1:], a_start("high", due=5, late=2.001)]
    assert "high runs start within 2 s" in broken([*LOW, *LONG, *late, *NORMAL])


def test_a_report_is_broken_by_one_run_that_starts_early() -> None:
    early = [*NORMAL[1:], a_start("normal", due=5, late=-0.001)]
    assert broken([*LOW, *LONG, *HIGH, *early]) == ["normal runs start within 2 s"]


def test_a_report_is_broken_by_one_run_that_has_not_started() -> None:
    queued = [*NORMAL[1:], a_start("normal", due=5, late=None, state="QUEUED")]
    assert "normal runs start within 2 s" in broken([*LOW, *LONG, *HIGH, *queued])


def test_a_report_is_broken_by_one_run_that_has_started_and_failed() -> None:
    dead = [*NORMAL[1:], a_start("normal", due=5, state="DEAD")]
    assert broken([*LOW, *LONG, *HIGH, *dead]) == ["normal runs start within 2 s"]


def test_runs_in_time_show_nothing_when_no_low_ones_were_waiting() -> None:
    at_once = [a_start("low", late=0.1) for _ in range(60)]
    assert broken([*at_once, *LONG, *HIGH, *NORMAL]) == [
        "high runs came due while low ones waited",
        "normal runs came due while low ones waited",
    ]


def test_a_low_run_that_is_lost_is_told() -> None:
    assert broken([*LOW[1:], *LONG, *HIGH, *NORMAL]) == ["no low run is lost"]


def test_long_runs_that_were_over_soon_have_shown_nothing() -> None:
    short = [LONG[0], a_start("long", due=2, takes=3)]
    assert broken([*LOW, *short, *HIGH, *NORMAL]) == ["runs of 20 s in long delay nobody"]


def test_a_run_that_is_late_while_long_ones_are_at_work_is_laid_to_them() -> None:
    late = [*HIGH[1:], a_start("high", due=6, late=3)]
    assert broken([*LOW, *LONG, *late, *NORMAL])[-1] == "runs of 20 s in long delay nobody"


def test_nothing_at_all_keeps_no_promise() -> None:
    assert not judged([]).kept


def test_a_benchmark_without_long_runs_says_nothing_of_them() -> None:
    made = judged([*LOW, *HIGH, *NORMAL], {"high": PRESSED, "normal": PRESSED, "low": 60, "long": 0})
    assert made.kept
    assert not any("long" in check.name for check in made.checks)


def test_the_backlog_is_what_was_due_and_had_not_started() -> None:
    low = [a_start("low", late=late) for late in (1, 3, 5)] + [a_start("low", due=9), a_start("low", late=None)]
    found = backlog([a_start("high", due=0), a_start("high", due=3), a_start("high", due=6)], low)
    assert found is not None
    assert (found.most, found.fewest, found.pressed) == (4, 1, 3)


def test_a_rate_is_how_many_started_until_the_last_one_did() -> None:
    assert started_per_second([a_start("low", late=late) for late in (0.5, 1, 2)]) == 1.5
    assert started_per_second([a_start("low", late=0.1)]) == 1.0
    assert started_per_second([a_start("low", late=None)]) == 0.0


def test_a_run_is_read_from_its_record() -> None:
    document = {
        "id": "high-1.20261121T120000Z",
        "job_id": "high-1",
        "state": "SUCCEEDED",
        "occurrence": "2026-11-21T12:00:00Z",
        "due": "2026-11-21T12:00:00Z",
        "started_at": "2026-11-21T12:00:00.250Z",
        "finished_at": "2026-11-21T12:00:01.000Z",
        "lateness_seconds": 0.25,
    }
    start = Start.of("high", Run.from_document(document))
    assert start.started_at == NOON + timedelta(seconds=0.25)
    assert start.finished_at == NOON + timedelta(seconds=1)
    assert (start.lane, start.lateness, start.state) == ("high", 0.25, "SUCCEEDED")


def test_a_report_reads_as_a_table_and_as_a_document() -> None:
    made = report([*LOW, *LONG, *HIGH, *NORMAL], {"high": 10, "normal": 10, "low": 60, "long": 2}, SLOW, {"a_fact": 7})
    text = str(made)
    assert "a fact" in text
    assert "kept    high runs start within 2 s: 10 of 10 started, the worst after 0.100 s" in text
    document = made.document()
    assert document["facts"] == {"a_fact": 7}
    assert document["lanes"][0] == {
        "lane": "high",
        "runs": 10,
        "succeeded": 10,
        "lateness_seconds": {"p50": 0.1, "p99": 0.1, "max": 0.1, "early": 0},
        "low_waiting": {"most": 54, "fewest": 45, "met_by": 10},
    }
    assert all(check["kept"] for check in document["checks"].values())
