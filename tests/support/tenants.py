"""A stage's tables and clients as the commands for tenants see them."""

from collections.abc import Callable, Mapping
from typing import Any

from duecourse.cli.doctor.facts import Skew
from duecourse.cli.doctor.stage import Stage
from duecourse.cli.tenants.place import Place
from duecourse.testing.clock import SettableClock
from tests.support.tables import Tables


def place(
    tables: Tables,
    clock: SettableClock,
    tenant: str = "default",
    *,
    clients: Mapping[str, Any] | None = None,
    sleep: Callable[[float], None] | None = None,
    **outputs: str,
) -> Place:
    """A tenant in these tables. Its commands wait by advancing the clock, unless `sleep` does something else."""
    made = {"dynamodb": tables.client.boto3, **(clients or {})}
    named = {"JobsTable": tables.jobs, "RunsTable": tables.runs, **outputs}
    stage = Stage("test", named, 0.0, clock.now(), Skew(0.0), made.__getitem__)
    return Place(stage, tenant, now=clock.now, sleep=sleep or clock.advance)


class Dies(Exception):
    """The process is gone."""


def dying(client: Any, after: int, shared: list[int] | None = None) -> Any:
    """A client whose process dies after this many requests, counted together with other clients in `shared`."""
    made = [0] if shared is None else shared

    class Dying:
        def __getattr__(self, name: str) -> Any:
            method = getattr(client, name)

            def call(**asked: Any) -> Any:
                answer = method(**asked)
                made[0] += 1
                if made[0] == after:
                    raise Dies
                return answer

            return method if name in ("get_paginator", "exceptions") else call

    return Dying()
