"""The oracle of the table of faults sees what it is there to see."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.support.fault_table.ending import Ending
from tests.support.fault_table.oracle import problems
from tests.support.fault_table.page import named
from tests.support.fault_table.play import play

RUN = (240, "")


@pytest.fixture(scope="module")
def fired() -> Ending:
    """A run of 12:04 that went well."""
    return play(named("fires at most once")).ending


@pytest.fixture(scope="module")
def died() -> Ending:
    """One that died."""
    return play(named("dies")).ending


def seen(story: str, ending: Ending, **changes: object) -> list[str]:
    return problems(named(story), replace(ending, **changes))  # type: ignore[arg-type]


def test_fault_oracle_reports_no_problem_for_correct_results(fired: Ending, died: Ending) -> None:
    assert seen("fires at most once", fired) == seen("dies", died) == []


def test_fault_oracle_reports_a_lost_run_and_one_with_two_records(fired: Ending) -> None:
    assert "240: 0 records answer for it" in seen("fires at most once", fired, records=())
    assert "240: 2 records answer for it" in seen("fires at most once", fired, records=fired.records * 2)


def test_fault_oracle_reports_a_run_with_an_unexpected_final_state(fired: Ending) -> None:
    (record,) = fired.records
    dead = (replace(record, state="DEAD", reason="lost", notified=True),)
    told = {"records": dead, "notices": Counter([RUN]), "dead_letters": Counter([RUN])}
    assert seen("fires at most once", fired, **told) == ["240: DEAD (lost)"]
    assert seen("fires at most once", fired, **told, attempt_lost=True) == []


def test_fault_oracle_reports_an_extra_and_a_missing_call(fired: Ending) -> None:
    again = (*fired.calls, replace(fired.calls[0], attempt=2))
    assert "1 calls too many" in seen("fires at most once", fired, calls=again, attempt_lost=True)
    assert f"{RUN}: SUCCEEDED without a successful call" in seen("fires at most once", fired, calls=())


def test_fault_oracle_reports_two_concurrent_attempts(died: Ending) -> None:
    first, second = died.calls
    lingering = (replace(first, until=second.at + 1), second)
    assert seen("dies", died, calls=lingering) == [f"{RUN}: called while {RUN} may be at work"]


def test_fault_oracle_reports_leftovers_and_a_job_in_a_wrong_state(fired: Ending) -> None:
    assert seen("fires at most once", fired, left=("a lock",), job="ACTIVE") == ["the job is ACTIVE", "left: a lock"]


def test_fault_oracle_reports_a_death_without_a_notice_or_a_dead_letter(died: Ending) -> None:
    assert seen("dies", died, notices=Counter()) == [f"{RUN}: dead and not announced"]
    assert seen("dies", died, dead_letters=Counter()) == [f"{RUN}: dead and not among the dead letters"]
