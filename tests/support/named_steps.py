"""Steps of workflows whose jobs have the names of the steps as their ids."""

from collections.abc import Mapping
from typing import Any


def named(steps: Mapping[str, Any]) -> dict[str, Any]:
    """The steps, each with its name as the id of the job that it defines."""
    return {name: {"job_id": name, **step} if "job" in step else step for name, step in steps.items()}
