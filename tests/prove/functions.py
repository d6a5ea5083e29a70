"""Function instances: the real handlers, each with its own clock and memory, invoked as Lambda invokes them."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.prove.simulation import Process, Simulation, Task
from tests.prove.stage import ACCOUNT, REGION, Function, handler_path

OVERRIDES = {
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_ENDPOINT_URL_DYNAMODB": f"http://dynamodb.{REGION}.amazonaws.com",  # without TLS
    "AWS_ENDPOINT_URL_SQS": f"http://sqs.{REGION}.amazonaws.com",
    "DUECOURSE_SHARDS": "1",
    "DUECOURSE_RUN_INDEX_PARTITIONS": "8",
    "DUECOURSE_LIST_SUCCESSES": "true",
    "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    "POWERTOOLS_METRICS_DISABLED": "true",
}


@cache
def _code(path: Path) -> types.CodeType:
    return compile(path.read_text(), str(path), "exec")


@dataclass(eq=False)
class Context:
    """What Lambda passes beside the event."""

    simulation: Simulation
    ends: float
    aws_request_id: str
    function_name: str
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:duecourse"

    def get_remaining_time_in_millis(self) -> int:
        return int((self.ends - self.simulation.now) * 1000)


@dataclass(eq=False)
class Instance:
    """An execution environment."""

    process: Process
    handler: Callable[[dict[str, Any], Context], Any]


@dataclass
class Invocation:
    """How an invocation ended: its answer, the error that its handler raised, or neither if its process died."""

    answer: Any = None
    error: BaseException | None = None
    died: bool = False


@dataclass(eq=False)
class Functions:
    """The instances of a stage's functions. Each new one has a clock that differs by up to `skew` seconds."""

    simulation: Simulation
    random: Random
    skew: float = 0.0
    idle: dict[str, list[Instance]] = field(default_factory=dict)
    errors: list[tuple[float, str, str]] = field(default_factory=list)
    _numbers: int = 0

    def invoke(self, function: Function, event: dict[str, Any], done: Callable[[Invocation], None]) -> None:
        """Start an invocation; `done` is called at its end."""
        idle = self.idle.setdefault(function.name, [])
        instance = idle.pop(self.random.randrange(len(idle))) if idle else self._new(function)
        self._numbers += 1
        ends = self.simulation.now + function.seconds
        context = Context(self.simulation, ends, f"request-{self._numbers:06}", function.name)
        invocation = Invocation()

        def work() -> None:
            invocation.answer = instance.handler(event, context)

        task = self.simulation.spawn(work, instance.process)

        def over() -> None:
            if isinstance(task.error, Exception):
                invocation.error = task.error
                self.errors.append((self.simulation.now, function.folder, f"{type(task.error).__name__}: {task.error}"))
            invocation.died = instance.process.dead
            if not invocation.died:
                idle.append(instance)
            done(invocation)

        self.simulation.at(ends, lambda: self._expire(instance, task))
        watcher = Task(over, self.simulation.outside)
        self.simulation.outside.tasks.add(watcher)
        task.waiters.append(lambda: self.simulation.resume(watcher))

    def _expire(self, instance: Instance, task: Task) -> None:
        if not task.ended:
            self.simulation.kill(instance.process)

    def _new(self, function: Function) -> Instance:
        skew = self.random.uniform(-self.skew, self.skew)
        process = Process(function.folder, skew, {**function.environ, **OVERRIDES})
        module = types.ModuleType(f"{function.folder}_handler")
        module.__file__ = str(handler_path(function.folder))
        before, self.simulation.outside.environ = self.simulation.outside.environ, process.environ
        try:
            exec(_code(handler_path(function.folder)), module.__dict__)
        finally:
            self.simulation.outside.environ = before
        return Instance(process, module.handler)
