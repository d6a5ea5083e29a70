"""All routes, gathered from the modules that declare them."""

from __future__ import annotations

from duecourse.api.api import declared
from duecourse.api.openapi import served  # noqa: F401
from duecourse.api.routes import (  # noqa: F401
    batch,
    callbacks,
    dead_letters,
    jobs,
    manual,
    pausing,
    runs,
    service,
    stage,
    upcoming,
    workflows,
)

ROUTES = tuple(sorted(declared, key=lambda route: route.path))
"""Every route, those of a path side by side."""

OPEN = frozenset((route.method, route.path) for route in ROUTES if not route.scopes)
"""Method and path of the routes without an authorizer (`infra/functions/api.py` has the same list)."""
