"""Duecourse: a distributed job scheduler made of AWS serverless parts. `Client` and `AsyncClient` are those of
`duecourse.client`, imported at their first use, since the functions do without them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duecourse.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("duecourse.client"), name)
