"""The stage's registered tasks: named targets in SSM Parameter Store."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import orjson

from duecourse.domain.targets.kinds import target_of
from duecourse.domain.targets.targets import TaskTarget, WorkflowTarget
from duecourse.limits import TASK_NAME
from duecourse.ports import AwsError, Clock, RegisteredTask, ServiceError, TasksUnavailableError

_KNOWN_SECONDS = 60
_UNKNOWN_SECONDS = 5
_KEPT = 256
_NAME = re.compile(TASK_NAME)

_logger = logging.getLogger(__name__)


class TaskError(ValueError):
    """A parameter does not contain a valid task."""


@dataclass(frozen=True, slots=True)
class _Read:
    task: RegisteredTask | None
    until: float


class SsmTasks:
    """Reads each task from the `/duecourse/<stage>/tasks/<name>` parameter. Safe to share between threads.

    A task is cached for a minute, and its absence for five seconds.
    """

    def __init__(self, client: Any, stage: str, clock: Clock) -> None:
        self._client = client
        self._stage = stage
        self._clock = clock
        self._read: OrderedDict[str, _Read] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str) -> RegisteredTask | None:
        """Return a task, or None if no task has that name or its parameter is invalid (the log has the error).

        If SSM does not respond, an expired task from the cache is returned. Raises TasksUnavailableError if the cache
        has none.
        """
        if _NAME.fullmatch(name) is None:
            return None  # such a name could refer to other parameters
        now = self._clock.now()
        with self._lock:
            known = self._read.get(name)
        if known is not None and now < known.until:
            return known.task
        try:
            task = self._fetch(name)
        except AwsError as problem:
            if known is None or known.task is None:
                raise TasksUnavailableError(f"task {name} ({type(problem).__name__})") from problem
            facts = {"action": "task_not_read_again", "task": name, "error": str(problem)}
            _logger.warning("task_not_read_again", extra=facts)
            task = known.task
        self._keep(name, _Read(task, now + (_UNKNOWN_SECONDS if task is None else _KNOWN_SECONDS)))
        return task

    def _fetch(self, name: str) -> RegisteredTask | None:
        try:
            answer = self._client.get_parameter(Name=f"/duecourse/{self._stage}/tasks/{name}")
        except ServiceError as refused:
            if refused.code == "ParameterNotFound":
                return None
            raise
        try:
            return task_of(answer["Parameter"]["Value"])
        except TaskError:
            _logger.exception("task_unreadable", extra={"action": "task_unreadable", "task": name})
            return None

    def _keep(self, name: str, read: _Read) -> None:
        with self._lock:
            self._read[name] = read
            self._read.move_to_end(name)
            if len(self._read) > _KEPT:
                self._read.popitem(last=False)


def task_of(text: str) -> RegisteredTask:
    """Return the task of a parameter's text, `{"target": {…}, "defaults": {…}}`. Raises TaskError."""
    try:
        document = orjson.loads(text)
        target = target_of(document["target"])
        defaults = document.get("defaults", {})
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise TaskError(f"{type(problem).__name__}: {problem}") from problem
    if isinstance(target, TaskTarget | WorkflowTarget):
        raise TaskError("a task cannot refer to another task or a workflow")
    if not isinstance(defaults, dict):
        raise TaskError("the defaults of a task must be an object")
    return RegisteredTask(target, defaults)
