"""A scheduler for the tests of an application: the code of production, with a simulated clock.

    from duecourse.testing import Scheduler

    with Scheduler(now="2026-03-28T00:00:00Z") as scheduler:
        scheduler.client.create_job({"id": "nightly", "schedule": "30 2 * * *", ...})
        fired = scheduler.advance(days=2)

docs/testing.md describes its use. It needs the dependencies of the API functions: `pip install "duecourse[testing]"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duecourse.testing.scheduler import Scheduler
    from duecourse.testing.targets import Answer, TargetCall

__all__ = ["Answer", "Scheduler", "TargetCall"]


def __getattr__(name: str) -> Any:
    """Import a name at its first use, because pytest loads this package in every test run for its plugin."""
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    try:
        from duecourse.testing import scheduler, targets
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f'duecourse.testing needs the module {missing.name}; run pip install "duecourse[testing]"',
            name=missing.name,
        ) from missing
    return getattr(scheduler if name == "Scheduler" else targets, name)
