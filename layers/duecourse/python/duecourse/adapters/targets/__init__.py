"""Targets: what a run calls. One module a kind, chosen here by the target's type and nothing else."""

from __future__ import annotations

from typing import Self, assert_never

from duecourse.adapters.aws import clients
from duecourse.adapters.targets.callers import Callers
from duecourse.adapters.targets.place import Place
from duecourse.domain.allowed_targets import AllowedTargets, target_refusal
from duecourse.domain.target_document import type_of
from duecourse.domain.targets import (
    AwsTarget,
    CallableTarget,
    EcsTarget,
    EventBridgeTarget,
    Failed,
    HttpTarget,
    LambdaTarget,
    Outcome,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    TaskTarget,
)
from duecourse.ports import Call, Clock, Secrets, Tasks, TasksUnavailableError

__all__ = ["Place", "Targets"]


class Targets:
    """Calls any target. A new kind is a new module and a new case; the type checker names every place that lacks it."""

    def __init__(self, callers: Callers, tasks: Tasks, allowed: AllowedTargets) -> None:
        """`allowed` is what jobs may call by themselves; what a task calls is its operator's choice."""
        self._callers = callers
        self._tasks = tasks
        self._allowed = allowed

    @classmethod
    def create(
        cls, *, private: bool, clock: Clock, place: Place, secrets: Secrets, tasks: Tasks, allowed: AllowedTargets
    ) -> Self:
        """The targets of a worker; `private` allows HTTP targets at addresses that are not public."""
        callers = Callers(private=private, clock=clock, place=place, secrets=secrets, clients=clients())
        return cls(callers, tasks, allowed)

    def call(self, call: Call) -> Outcome:
        """Call the target and judge its answer; never raises for what the target does."""
        target = call.job.target
        if not isinstance(target, TaskTarget):
            if problem := target_refusal(target, self._allowed):
                return Failed(f"{type_of(target)} target: {problem}", retryable=False, code="target_not_allowed")
            return self._call(call, target)
        found = self._find(target)
        return found if isinstance(found, Failed) else self._call(call, found)

    def _find(self, task: TaskTarget) -> CallableTarget | Failed:
        """What the operator has registered under the task's name by now."""
        try:
            registered = self._tasks.get(task.name)
        except TasksUnavailableError as problem:
            return Failed(f"task {task.name} could not be looked up ({problem})", code="tasks_unavailable")
        if registered is None:
            return Failed(f"no task {task.name} is registered", retryable=False, code="task_unknown")
        return registered.target

    def _call(self, call: Call, target: CallableTarget) -> Outcome:
        match target:
            case HttpTarget():
                return self._callers.http.call(call, target)
            case LambdaTarget():
                return self._callers.functions.call(call, target)
            case SqsTarget():
                return self._callers.queues.call(call, target)
            case SnsTarget():
                return self._callers.topics.call(call, target)
            case EventBridgeTarget():
                return self._callers.buses.call(call, target)
            case StepFunctionsTarget():
                return self._callers.machines.call(call, target)
            case EcsTarget():
                return self._callers.tasks.call(call, target)
            case AwsTarget():
                return self._callers.actions.call(call, target)
            case other:
                assert_never(other)
