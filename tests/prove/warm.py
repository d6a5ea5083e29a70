"""A history in which most of the code runs, so that what it loads and compiles is there for all that follow."""

from __future__ import annotations

from typing import Any

from tests.prove.executions import EXECUTED
from tests.prove.operations import Operator
from tests.prove.plan import START, Conditions, Operation, Plan
from tests.prove.stage import Deployed
from tests.prove.targets import ADDRESS
from tests.prove.world import World

BEGIN = -9000.0
"""Seconds before the histories begin."""

SECONDS = 400.0

_ONCE: dict[str, Any] = {"target": {"type": "http", "url": f"{ADDRESS}/"}, "retry": {"max_attempts": 1}}
_OFTEN = _ONCE | {"schedule": "rate(20 seconds)", "overlap": "queue"}
_CALLBACK = _OFTEN | {"completion": "callback", "completion_seconds": 20, "overlap": "newest"}
_ENDS = EXECUTED | {"schedule": None, "completion_seconds": 20, "overlap": "allow", "then": [{"job": "warm-often"}]}
_LISTED = {
    "schedule": None,
    "payload": {"found": [1, 2]},
    "jobs": {"warm-each": {"for_each": "{{workflow.payload.found}}", "job": _ONCE | {"payload": "{{item}}"}}},
}
_WORKFLOW = {
    "schedule": None,
    "jobs": {
        "warm-first": {"job": _ONCE},
        "warm-dead": {"job": _ONCE, "after": ["warm-first"]},
        "warm-last": {"job": _ONCE, "after": ["warm-dead"], "when": "any_failure"},
    },
}
_WHAT: tuple[tuple[float, str, str, dict[str, Any]], ...] = (
    (1, "create", "warm-often", {"body": _OFTEN}),
    (1, "create", "warm-dead-often", {"body": _OFTEN}),
    (1, "create", "warm-callback", {"body": _CALLBACK}),
    (2, "put", "warm-flow", {"body": _WORKFLOW}),
    (2, "create", "warm-end", {"body": _ENDS}),
    (2, "put", "warm-list", {"body": _LISTED}),
    (3, "run", "warm-end", {"pick": 0}),
    (3, "run", "warm-list", {"pick": 0}),
    (3, "run", "warm-often", {"ask": {"delay_seconds": 60}}),
    (4, "reschedule", "warm-often", {"pick": 0, "ask": {"delay_seconds": 30, "payload": 1}}),
    (5, "run", "warm-flow", {"pick": 0}),
    (6, "run", "warm-often", {"pick": 0}),
    (31, "backfill", "warm-often", {"back": 60, "pace": 2, "newest_first": False}),
    (32, "cancel", "warm-often", {"pick": 0}),
    (40, "redrive", "warm-dead", {"pick": 0}),
    (41, "redrive-many", "warm-dead-often", {"pick": 0}),
    (50, "rerun", "warm-flow", {"pick": 0}),
    (51, "console-redrive", "warm-dead-often", {"pick": 0}),
    (60, "pause", "warm-often", {"pick": 0}),
    (65, "resume", "warm-often", {"body": {"catch_up": True}}),
    (66, "skip-next", "warm-often", {"body": {"count": 1}}),
    (67, "patch", "warm-often", {"body": {"payload": 1}}),
    (120, "delete", "warm-often", {}),
    (121, "delete", "warm-dead-often", {}),
    (122, "delete", "warm-callback", {}),
    (150, "delete", "warm-flow", {}),
    (151, "delete", "warm-list", {}),
    (152, "delete", "warm-end", {}),
)
_READ = (
    *(
        "/v1/jobs/warm-often",
        "/v1/jobs/warm-often/runs",
        "/v1/workflows/warm-flow",
        "/v1/runs/warm-flow.20261121T000000Z",
    ),
    *("/v1/jobs/warm-callback/explain?at=2026-11-21T09:30:20Z", "/v1/workflows/warm-flow/runs/20261121T000000Z"),
)


def warm(stage: Deployed) -> World:
    """That history, before all others."""
    operations = tuple(Operation(float(at), what, job, more) for at, what, job, more in _WHAT)
    dead = {"outcomes": {"fails": 1}, "seconds": 0.1}
    plan = Plan(0, SECONDS, operations, [], Conditions(), {"warm-dead": dead, "warm-dead-often": dead})
    return World(plan, stage, begin=BEGIN)


def play(world: World) -> None:
    """Play it; what is read is not looked at."""
    Operator(world).begin()

    def read() -> None:
        for path in _READ:
            name, _, query = path.partition("?")
            world.ask("GET", name, query=dict([query.split("=", 1)]) if query else None)

    world.simulation.spawn(read, after=100.0)
    world.simulation.run(START + BEGIN + SECONDS)
