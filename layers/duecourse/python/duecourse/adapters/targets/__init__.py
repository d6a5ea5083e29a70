"""Targets of runs. `callers` selects the caller by the type of the target."""

from __future__ import annotations

from duecourse.adapters.targets.callers import Callers
from duecourse.domain.targets.allowed_targets import AllowedTargets, target_refusal
from duecourse.domain.targets.kinds import type_of
from duecourse.domain.targets.targets import CallableTarget, Failed, Outcome, TaskTarget, WorkflowTarget
from duecourse.ports import Call, Tasks, TasksUnavailableError


class Targets:
    """Calls any target. The kind of the target determines its caller (domain/targets/kinds.py)."""

    def __init__(self, callers: Callers, tasks: Tasks, allowed: AllowedTargets) -> None:
        """`allowed` limits the targets that jobs define themselves. The target of a registered task is chosen by the
        operator and is not limited.
        """
        self._callers = callers
        self._tasks = tasks
        self._allowed = allowed

    def call(self, call: Call) -> Outcome:
        """Call the target and return the outcome. Errors of the target are outcomes, not exceptions."""
        target = call.job.target
        if isinstance(target, WorkflowTarget):
            raise TypeError("a workflow has no target to call; its worker starts it")
        if not isinstance(target, TaskTarget):
            if problem := target_refusal(target, self._allowed):
                return Failed(f"{type_of(target)} target: {problem}", retryable=False, code="target_not_allowed")
            return self._callers.of(target).call(call, target)
        found = self._find(target)
        return found if isinstance(found, Failed) else self._callers.of(found).call(call, found)

    def _find(self, task: TaskTarget) -> CallableTarget | Failed:
        """Return the target that is currently registered for the task."""
        try:
            registered = self._tasks.get(task.name)
        except TasksUnavailableError as problem:
            return Failed(f"task {task.name} could not be read ({problem})", code="tasks_unavailable")
        if registered is None:
            return Failed(f"the task {task.name} is not registered", retryable=False, code="task_unknown")
        return registered.target
