"""Whose pause an occurrence was skipped by."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.jobs.document import ChangeAction, ChangeRecord
from duecourse.domain.runs.explain import Explanation, Verdict, pause_over, with_pause


def change(at: int, action: ChangeAction, note: str | None = None) -> ChangeRecord:
    changes: tuple[dict[str, Any], ...] = ({"field": "state", "before": "ACTIVE", "after": "PAUSED"},)
    if note is not None:
        changes += ({"field": "paused_because", "before": None, "after": note},)
    return ChangeRecord("default", "steady", at, "ann", action, "key", changes=changes)


PAUSED_TWICE = [
    change(80, ChangeAction.PAUSED, "again"),
    change(60, ChangeAction.RESUMED),
    change(40, ChangeAction.PAUSED, "first"),
    change(10, ChangeAction.CREATED),
]


@pytest.mark.parametrize(
    ("at", "since"),
    [(90, 80), (80, 80), (70, 80), (50, 40), (40, 40), (30, 40)],
    ids=["in it", "at its second", "due before it, not enqueued", "in the first", "at its second", "due before it"],
)
def test_an_explained_pause_is_the_last_one_before_or_the_first_one_after(at: int, since: int) -> None:
    found = pause_over(PAUSED_TWICE, at)
    assert found is not None
    assert found.at == since


def test_of_changes_that_do_not_reach_back_none_is_told() -> None:
    assert pause_over(PAUSED_TWICE[:2], 50) is None
    assert pause_over([], 50) is None


def test_an_explained_pause_has_its_principal_and_reason_beside_the_record() -> None:
    found = Explanation(Verdict.PAUSED, "It did not run: the job was paused.", {"reason": "paused"})
    told = with_pause(found, change(40, ChangeAction.PAUSED, "the data are wrong"))
    assert told.sentence == (
        "It did not run: the job was paused. It had been paused since 1970-01-01T00:00:40Z by ann (the data are wrong)."
    )
    assert told.facts == {
        "reason": "paused",
        "since": "1970-01-01T00:00:40Z",
        "by": "ann",
        "note": "the data are wrong",
    }
    assert with_pause(found, change(40, ChangeAction.PAUSED)).sentence.endswith("by ann.")
