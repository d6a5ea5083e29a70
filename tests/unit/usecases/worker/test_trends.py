"""A worker's process reports that many targets fail, not that a few do."""

import pytest

from duecourse.usecases.report import Report
from duecourse.usecases.worker.trends import Counts, Trends, counted

AT = 1_795_262_700.0
FIVE = frozenset("abcde")


def reported(*batches: Counts, seconds: float = 10) -> Report:
    """The report of the last of several batches, one after the other."""
    trends, report = Trends(), Report()
    for number, batch in enumerate(batches):
        report = Report()
        trends.add(batch, AT + seconds * number, report, 0.4)
    return report


@pytest.mark.parametrize(
    ("batch", "failing"),
    [
        (Counts(attempts=10, failed=6, called=FIVE, failing=frozenset("abc")), 3),
        (Counts(attempts=10, failed=5, called=FIVE, failing=frozenset("abc")), 0),
        (Counts(attempts=10, failed=6, called=FIVE, failing=frozenset("ab")), 0),
        (Counts(attempts=200, failed=9, called=FIVE, failing=frozenset("abc")), 0),
        (Counts(attempts=40, failed=6, called=frozenset(map(str, range(20))), failing=frozenset("012")), 0),
    ],
    ids=["an outage", "five failures", "two targets", "less than 5%", "few of many targets"],
)
def test_trends_report_failing_targets_if_enough_of_them_fail(batch: Counts, failing: int) -> None:
    assert reported(batch).counts["TargetsFailing"] == failing


def test_trends_combine_the_last_five_minutes_and_ignore_older_batches() -> None:
    one = Counts(attempts=3, failed=3, called=FIVE, failing=frozenset("abc"))
    assert reported(one, one, seconds=200).counts["TargetsFailing"] == 3
    assert reported(one, one, seconds=400).counts["TargetsFailing"] == 0


def test_trends_report_nothing_for_a_good_batch_despite_earlier_bad_ones() -> None:
    bad = Counts(attempts=10, failed=10, called=FIVE, failing=FIVE)
    assert not reported(bad, Counts(attempts=1)).events


def test_trends_sum_of_what_is_beyond_a_share_is_positive_if_more_failed_in_all_batches() -> None:
    batches = [Counts(attempts=1, failed=1)] * 41 + [Counts(attempts=1)] * 59
    assert sum(each.beyond(0.4) for each in batches) == pytest.approx(1)
    assert sum(each.beyond(0.4) for each in batches[3:]) < 0


def test_trends_count_a_batch_from_its_report() -> None:
    report = Report()
    report.counts.update({"AttemptsStarted": 3, "AttemptsFailed": 1})
    report.called |= {"t a", "t b"}
    report.failing |= {"t b"}
    assert counted(report) == Counts(3, 1, {"t a", "t b"}, {"t b"})
