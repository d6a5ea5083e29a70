"""What mypy rejects in the construction of a record. If it accepts one of these lines, it reports an unused comment."""

import pytest

from duecourse.domain.runs.states import Dead, Queued, RunState
from duecourse.domain.runs.transitions import becomes
from tests.support.jobs import job
from tests.support.runs import run

BEFORE = run(job(), RunState.RUNNING, attempt=3, error="HTTP 500", note="half")


def test_state_types_reject_a_field_of_another_type() -> None:
    becomes(BEFORE, Queued)(attempt="three")  # type: ignore[arg-type]


def test_state_types_reject_a_field_that_no_state_has() -> None:
    with pytest.raises(TypeError):
        becomes(BEFORE, Queued)(no_such_field=1)  # type: ignore[call-arg]


def test_state_types_require_the_fields_of_the_new_state() -> None:
    with pytest.raises(TypeError):
        becomes(BEFORE, Dead)(reason="not_retryable")  # type: ignore[call-arg]


def test_state_types_take_the_fields_of_every_state_from_the_record_before() -> None:
    after = becomes(BEFORE, Dead)(reason="not_retryable", finished_at=9.0)
    assert (after.state, after.identity, after.lane) == (RunState.DEAD, BEFORE.identity, BEFORE.lane)
    assert (after.attempt, after.error, after.note, after.earlier) == (3, "HTTP 500", "half", BEFORE.earlier)
