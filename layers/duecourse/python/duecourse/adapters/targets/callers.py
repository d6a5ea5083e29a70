"""Targets of runs: one caller for each kind of target. Each is created at its first call, so that a cold start creates
only the caller that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Protocol, Self

from duecourse.adapters.aws.clients import AwsClients
from duecourse.adapters.targets.aws.names import Arns
from duecourse.domain.targets.allowed_targets import AllowedTargets, target_refusal
from duecourse.domain.targets.kinds import TARGETS, type_of
from duecourse.domain.targets.targets import CallableTarget, Connectors, Failed, Outcome, TaskTarget, WorkflowTarget
from duecourse.ports import Call, Clock, Secrets, Tasks, TasksUnavailableError, TokenSigner


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The dependencies of callers. `private` allows HTTP targets at addresses that are not public. `connectors` are
    those of the stage. `audit_function` is the name of the function that makes reports.
    """

    private: bool
    clock: Clock
    arns: Arns
    secrets: Secrets
    clients: AwsClients
    signer: TokenSigner | None = None
    connectors: Connectors = field(default_factory=dict)
    audit_function: str = ""


class TargetCaller(Protocol):
    """Calls targets of one kind. Safe to share between threads."""

    @classmethod
    def made_of(cls, means: Means, client_for: Any) -> Self:
        """Return the caller of a process. `client_for` returns clients of the kind's service (ClientFor)."""

    def call(self, call: Call, target: Any) -> Outcome:
        """Call the target and return the outcome. Errors of the target are outcomes, not exceptions."""


class Callers:
    """The callers of a process, each shared by its threads. Two threads that are first at the same
    time may create two.
    """

    def __init__(self, means: Means) -> None:
        self._means = means
        self._made: dict[str, TargetCaller] = {}

    def of(self, target: CallableTarget) -> TargetCaller:
        """Return the caller for this kind of target."""
        word = type_of(target)
        if word not in self._made:
            self._made[word] = self._make(word)
        return self._made[word]

    def _make(self, word: str) -> TargetCaller:
        kind = TARGETS[word]
        if kind.call is None:
            raise TypeError(f"targets of type {word} cannot be called directly")
        module, _, name = kind.call.partition(":")
        caller: type[TargetCaller] = getattr(import_module(module), name)
        return caller.made_of(self._means, partial(self._means.clients.calling, kind.service))


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
