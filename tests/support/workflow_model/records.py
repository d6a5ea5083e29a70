"""Records and ends as states hold them, and as others read them."""

from dataclasses import replace
from typing import Any

from duecourse.domain.runs.states import Deadlines, Final, Run
from duecourse.domain.workflows.graph import StepOutcome, StepOutcomes
from tests.support.workflow_model.values import DEADLINE_SECONDS, EARLY, LATE, LEASE_SECONDS, State


def plain(run: Run) -> Run:
    """A record without what differs between deliveries and decides nothing: its writer, times, texts."""
    times: dict[str, Any] = {
        "lease_until": EARLY + LEASE_SECONDS,
        "not_before": EARLY,
        "finished_at": EARLY,
        "redriven_at": EARLY,
        "deadlines": Deadlines(EARLY + DEADLINE_SECONDS),
    }
    known = {name: at for name, at in times.items() if getattr(run, name, None) is not None}
    bare: dict[str, Any] = {"fencing_token": "", "expires_at": None}
    bare |= {} if run.failure is None else {"failure": None}
    if run.attempts is not None:
        bare["attempts"] = replace(run.attempts, first_started_at=EARLY, started_at=EARLY, callback=None)
    if run.redriven_at is not None and not run.is_step:  # its redrives are told apart
        known["redriven_at"] = EARLY + run.attempt if run.redriven_at in (EARLY, LATE) else run.redriven_at
    return replace(run, **known | bare)


def anonymous(run: Run) -> Run:
    """A record as others read it, who do not ask which message carries it."""
    bare = replace(run, message_id="", nonce="")
    return replace(bare, notified=False) if isinstance(bare, Final) else bare


def ids_of(run: Run | None) -> int:
    """The numbers of the messages that a record names, as a mask."""
    named = () if run is None else (run.nonce, run.message_id.partition(".")[0])
    return sum(1 << int(each) for each in {*named} if each)


def with_entry(known: StepOutcomes, number: int, end: StepOutcome | None, round: int) -> StepOutcomes:
    """The ends with this one of a step instead of its earlier one."""
    bit = 1 << number
    masks = {str(each): getattr(known, each) & ~bit | (bit if each is end else 0) for each in StepOutcome}
    rounds = {**dict(known.rounds), number: round} if round else dict(known.rounds)
    return StepOutcomes(**masks, rounds=tuple(sorted(rounds.items())), again=known.again)


def with_part(state: State, part: int, known: int) -> State:
    """The state with these ends (a number of `Kept`) in a part."""
    return state._replace(parts=(*state.parts[:part], known, *state.parts[part + 1 :]))
