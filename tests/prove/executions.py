"""State machines that jobs with `completion: end` start: executions that end by themselves or are stopped, and the
events about their ends, which come early, late, twice or never.

Sources: AWS Step Functions API Reference, "StartExecution" (the name makes it idempotent), "DescribeExecution" (it is
eventually consistent), "StopExecution"; AWS Step Functions Developer Guide, "Automating Step Functions event delivery
with EventBridge" (events are delivered at least once, and best effort).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.prove.plan import Plan
from tests.prove.queues import Queue
from tests.prove.simulation import Simulation
from tests.prove.stage import ACCOUNT, REGION
from tests.prove.targets import TargetCall, Targets

MACHINE = "duecourse-target-work"
EXECUTED: dict[str, Any] = {"target": {"type": "stepfunctions", "machine": MACHINE}, "completion": "end"}
"""A job's target and completion."""

OUTPUT = {"rows": 7}
ERROR = "States.TaskFailed"

STATUS = {"succeeds": "SUCCEEDED", "fails": "FAILED", "expires": "TIMED_OUT", "forgotten": "SUCCEEDED"}
"""The status that an execution of each outcome has in the end. One that `stays` runs until it is stopped. AWS does not
know one that is `forgotten` after its end."""

READ_SECONDS = 3600 + 120
"""After its start an execution whose event was lost was read for certain: a timer is found by a round."""

EVENTS = {"prompt": 6, "early": 1, "late": 1, "twice": 2, "never": 1}
"""When events about ends come. `early`: in the moment of the end, before others see it."""


@dataclass(eq=False)
class Execution:
    """An execution, and the call that started it. `heard`: the caller received the response. `events` are the instants
    at which the event about its end came; `stopped` is when it was asked to stop."""

    arn: str
    input: str
    call: TargetCall
    outcome: str
    lag: float = 0.0
    status: str = "RUNNING"
    ended: float | None = None
    stopped: float | None = None
    heard: bool = False
    events: list[float] = field(default_factory=list)

    @property
    def until(self) -> float:
        return float("inf") if self.ended is None else self.ended


@dataclass(eq=False)
class StateMachines:
    """Step Functions. `ends` is the queue to which the event bus sends what the rule of the stage selects."""

    simulation: Simulation
    plan: Plan
    targets: Targets
    ends: Queue
    executions: dict[str, Execution] = field(default_factory=dict)
    told_by: float = 0.0
    """When the last event comes that is planned so far."""

    def answer(self, operation: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The response to a request: its status and its document."""
        match operation:
            case "StartExecution":
                return self._start(asked)
            case "DescribeExecution":
                return self._describe(asked["executionArn"])
            case "StopExecution":
                return self._stop(asked["executionArn"])
        raise ValueError(f"states {operation} is not simulated")

    def heard(self, answered: dict[str, Any]) -> None:
        """The response to a start has arrived."""
        found = self.executions.get(answered.get("executionArn", ""))
        if found is not None:
            found.heard = True
            found.call.outcome = "succeeds"

    def of(self, call: TargetCall) -> Execution | None:
        """The execution that a call has started; None if it started none."""
        return next((each for each in self.executions.values() if each.call is call), None)

    def of_run(self, run: str) -> list[Execution]:
        """The executions of a run, in the order of their starts."""
        return [each for each in self.executions.values() if each.call.run == run]

    def known_by(self) -> float:
        """When each end is known: by its last event, or within an hour by a read, which is no message but a timer."""
        unknown = (each for each in self.executions.values() if not each.events and each.stopped is None)
        reads = [each.call.began + READ_SECONDS for each in unknown if each.call.job in self.slow]
        return max([self.told_by, *reads])

    @property
    def slow(self) -> set[str]:
        """The jobs whose deadlines are timers."""
        bodies = ((each.job, each.more.get("body")) for each in self.plan.operations)
        return {job for job, body in bodies if isinstance(body, dict) and body.get("completion_seconds", 0) > 900}

    def _start(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        machine = asked["stateMachineArn"].rpartition(":")[2]
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:{machine}:{asked['name']}"
        known = self.executions.get(arn)
        if known is not None:
            if known.ended is None and known.input == asked["input"]:
                return 200, {"executionArn": arn, "startDate": known.call.began}
            return 400, {"__type": "ExecutionAlreadyExists", "message": arn}
        event, now = json.loads(asked["input"]), self.simulation.now
        call = TargetCall(
            event["job_id"],
            event["run_id"],
            event["attempt"],
            now,
            event["callback"]["token"],
            event["payload"],
            event["idempotency_key"],
            outcome="lost",
            ended=now,
        )
        random = Random(f"{self.plan.seed}/{call.run}/{call.attempt}/execution")
        target = self.plan.targets.get(call.job, {})
        outcome, seconds = self.plan.behaviour(call.run, call.attempt, now)
        if outcome == "refuses":
            return 400, {"__type": "StateMachineDoesNotExist", "message": machine}
        made = Execution(arn, asked["input"], call, outcome, random.choice(target.get("lags", (0.0,))))
        self.targets.calls.append(call)
        self.executions[arn] = made
        if outcome != "stays":
            self.simulation.at(now + seconds, lambda: self._end(made, STATUS[outcome]))
        return 200, {"executionArn": arn, "startDate": now}

    def _end(self, execution: Execution, status: str) -> None:
        if execution.ended is not None:
            return
        execution.status, execution.ended = status, self.simulation.now
        random = Random(f"{self.plan.seed}/{execution.arn}/event")
        weights = self.plan.targets.get(execution.call.job, {}).get("events", EVENTS)
        match random.choices(list(weights), list(weights.values()))[0]:
            case "prompt":
                waits = [random.uniform(0.1, 0.8)]
            case "early":
                waits = [0.0]
            case "late":
                waits = [random.uniform(5, 90)]
            case "twice":
                waits = [random.uniform(0.1, 0.8), random.choice((0.9, random.uniform(1, 60)))]
            case _:
                waits = []
        for wait in waits:
            self.told_by = max(self.told_by, self.simulation.now + wait)
            self.simulation.at(self.simulation.now + wait, lambda: self._tell(execution))

    def _tell(self, execution: Execution) -> None:
        execution.events.append(self.simulation.now)
        detail = {"executionArn": execution.arn, "status": execution.status, "name": execution.arn.rpartition(":")[2]}
        event = {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}
        self.ends.send(json.dumps(event), 0, None)

    def _describe(self, arn: str) -> tuple[int, dict[str, Any]]:
        found = self.executions.get(arn)
        now = self.simulation.now
        over = found is not None and now >= found.until + found.lag
        if found is None or (over and found.outcome == "forgotten" and found.stopped is None):
            return 400, {"__type": "ExecutionDoesNotExist", "message": arn}
        shown: dict[str, Any] = {"executionArn": arn, "status": found.status if over else "RUNNING"}
        match shown["status"]:
            case "SUCCEEDED":
                shown["output"] = json.dumps(OUTPUT)
            case "FAILED":
                shown |= {"error": ERROR, "cause": "no"}
        return 200, shown

    def _stop(self, arn: str) -> tuple[int, dict[str, Any]]:
        found = self.executions.get(arn)
        if found is None:
            return 400, {"__type": "ExecutionDoesNotExist", "message": arn}
        if found.ended is None:
            found.stopped = self.simulation.now
            self._end(found, "ABORTED")
        return 200, {"stopDate": self.simulation.now}
