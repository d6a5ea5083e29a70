"""Duecourse: a distributed job scheduler built on AWS serverless services.

`Client` and `AsyncClient` come from `duecourse.client`. They are imported at their first use, because the functions do
not need them.
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
