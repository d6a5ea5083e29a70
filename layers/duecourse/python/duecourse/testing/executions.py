"""The executions that the calls of a stage in memory start, and that a test ends."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from duecourse.domain.runs.states import Run
from duecourse.domain.targets.executions import END_EVENTS
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import AwsTarget, Execution, ExecutionService, Outcome
from duecourse.ports import Call

_SERVICES = {
    "stepfunctions": ExecutionService.STATES,
    "ecs": ExecutionService.ECS,
    "lambda": ExecutionService.LAMBDA,
}


@dataclass
class MemoryExecutions:
    """Implementation of ports.Executions. An execution is active until the test sets its outcome."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def end_of(self, execution: Execution, run: Run) -> Outcome | None:
        """Return the outcome of an execution; None while it is active."""
        del run
        return self.outcomes.get(execution.id)

    def stop(self, execution: Execution, run: Run) -> None:
        """Note the request."""
        del run
        self.stopped.append(execution.id)


def execution_of(call: Call) -> Execution:
    """Return the execution that a call starts: `nightly.20260328T013000Z/1`."""
    target = call.job.target
    service = (
        ExecutionService(target.service)
        if isinstance(target, AwsTarget)
        else _SERVICES.get(type_of(target), ExecutionService.STATES)
    )
    return Execution(service, f"{call.run.run_id}/{call.run.attempt}")


def event_of(execution: Execution) -> str:
    """Return the event about the end of an execution, as the event bus sends it to the queue."""
    known = END_EVENTS[execution.service]
    parts = execution.id.rsplit("/", len(known.ids) - 1)
    detail = dict(zip(known.ids, parts, strict=True))
    return orjson.dumps({"source": known.source, "detail-type": known.detail_type, "detail": detail}).decode()
