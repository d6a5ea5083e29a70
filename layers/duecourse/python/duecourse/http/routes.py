"""All routes, gathered from the modules that declare them."""

from __future__ import annotations

from duecourse.http import (  # noqa: F401
    batch,
    callbacks,
    dead_letters,
    explain,
    health,
    job_history,
    jobs,
    manual,
    pausing,
    preview,
    runs,
    stats,
)
from duecourse.http.openapi import served  # noqa: F401
from duecourse.http.route import declared

ROUTES = tuple(sorted(declared, key=lambda route: route.path))
"""Every route, those of a path side by side."""

OPEN = frozenset((route.method, route.path) for route in ROUTES if not route.scopes)
"""Method and path of the routes without an authorizer (`infra/api.py` has the same list)."""
