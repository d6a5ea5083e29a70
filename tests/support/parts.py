"""Other objects in the parts of a use case."""

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

T = TypeVar("T")


def with_parts(use_case: T, **parts: object) -> T:
    """The use case with these objects instead of those that it has."""
    case: Any = use_case
    changed = copy(case.parts)
    vars(changed).update(parts)
    changed_case: T = replace(case, parts=changed)
    return changed_case
