"""All routes, collected from the modules that declare them."""

from __future__ import annotations

from duecourse.api.api import declared
from duecourse.api.openapi import served  # noqa: F401
from duecourse.api.routes import (  # noqa: F401
    batch,
    calendars,
    callbacks,
    dead_letters,
    discards,
    jobs,
    keys,
    limits,
    manual,
    marks,
    operations,
    pausing,
    rescheduling,
    run_log,
    runs,
    service,
    shadow,
    spreading,
    stage,
    tenants,
    upcoming,
    warnings,
    workers,
    workflows,
)

ROUTES = tuple(sorted(declared, key=lambda route: route.path))
"""All routes, ordered by path."""

OPEN = frozenset((route.method, route.path) for route in ROUTES if not route.scopes)
"""The method and path of each route without an authorizer (`infra/functions/api.py` has the same list)."""
