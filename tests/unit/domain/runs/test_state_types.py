"""What mypy rejects in the construction of a record. If it accepts one of these lines, it reports an unused comment."""

from dataclasses import MISSING, fields

import pytest

from duecourse.domain.runs.states import PARTS, STATES, Dead, Queued, RunState, Skipped, StateParts
from duecourse.domain.runs.transitions import becomes
from tests.support.jobs import job
from tests.support.runs import run

BEFORE = run(job(), RunState.RUNNING, attempt=3, error="HTTP 500", note="half")


def test_state_types_reject_a_field_of_another_type() -> None:
    becomes(BEFORE, Queued)(attempts_allowed="three")  # type: ignore[arg-type]


def test_state_types_reject_a_field_that_no_state_has() -> None:
    with pytest.raises(TypeError):
        becomes(BEFORE, Queued)(no_such_field=1)  # type: ignore[call-arg]


def test_state_types_reject_a_part_of_another_state() -> None:
    for state in STATES.values():
        for part in {"attempts", "failure", "deadlines", "wait", "discard"} - PARTS[state.state].keys():
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{part}'"):
                state(BEFORE.identity, BEFORE.lane, **{part: None})  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        becomes(BEFORE, Queued)(attempts=BEFORE.attempts)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Skipped(BEFORE.identity, BEFORE.lane, reason="missed", progress=0.5)  # type: ignore[call-arg]


def test_state_types_require_the_fields_of_the_new_state() -> None:
    with pytest.raises(TypeError):
        becomes(BEFORE, Dead)(reason="not_retryable")  # type: ignore[call-arg]


@pytest.mark.parametrize("state", RunState)
def test_state_types_a_field_of_the_parts_is_required_where_it_cannot_be_none(state: RunState) -> None:
    kind: type = STATES[state]
    for each in fields(kind):
        if each.name in vars(StateParts):
            assert (each.default is MISSING) is ("None" not in str(each.type)), f"{each.name} = field()"


def test_state_types_take_the_fields_of_every_state_from_the_record_before() -> None:
    after = becomes(BEFORE, Dead)(reason="not_retryable", finished_at=9.0)
    assert (after.state, after.identity, after.lane) == (RunState.DEAD, BEFORE.identity, BEFORE.lane)
    assert (after.attempt, after.error, after.attempts) == (3, "HTTP 500", BEFORE.attempts)
    assert becomes(BEFORE, Skipped)(reason="missed").failure is None
