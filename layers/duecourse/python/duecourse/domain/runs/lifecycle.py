"""The one function that decides every transition of a run. ARCHITECTURE.md has the state diagram.

Each kind of event has a module of its own: `start` for messages that may start an attempt, `finish` for the end of a
call, `command` for callbacks, deadlines and cancellation, `member` for jobs of workflows and workflows' runs,
`dead_lettered` for messages in the dead-letter queue.
"""

from __future__ import annotations

from typing import assert_never

from duecourse.domain.jobs.job import JobSnapshot
from duecourse.domain.runs.command import decide_command
from duecourse.domain.runs.dead_lettered import decide_dead_lettered
from duecourse.domain.runs.decision import (
    AttemptContext,
    CancelAsked,
    Completed,
    DeadLettered,
    DeadlineCame,
    Decision,
    Ended,
    Evaluated,
    Event,
    GivenUp,
    MemberTurn,
    StartRequest,
)
from duecourse.domain.runs.finish import decide_finish
from duecourse.domain.runs.member import decide_evaluated, decide_member_start
from duecourse.domain.runs.recreated import of_generation
from duecourse.domain.runs.run import Run, Running, Waiting
from duecourse.domain.runs.start import decide_start, redriven


def decide(event: Event, job: JobSnapshot, run: Run | None, context: AttemptContext, *, now: float) -> Decision:
    """Decide about a run. `job` and `run` (None: no record) are strongly consistent reads, `now` UTC seconds."""
    match of_generation(event, job, run):
        case StartRequest(turn=MemberTurn() as turn) as event:
            return decide_member_start(event, turn, job, run, context, now=now)
        case StartRequest() as event:
            return decide_start(event, job, run, context, now=now)
        case Ended(outcome, draw):
            if not isinstance(run, Running | Waiting):
                raise TypeError("an attempt ends on the record that it was started with")
            return decide_finish(run, job, outcome, now=now, draw=draw)
        case Completed(request) | GivenUp(request) | DeadlineCame(request) | CancelAsked(request) as event:
            if run is not None and request.turn is not None and redriven(request, run, context):
                # A dead letter of its workflow's member that came back.
                return decide_member_start(request, request.turn, job, run, context, now=now)
            return decide_command(event, job, run, context, now=now)
        case Evaluated() as event:
            return decide_evaluated(event, job, run, context, now=now)
        case DeadLettered() as event:
            return decide_dead_lettered(event, job, run, context, now=now)
        case other:
            assert_never(other)
