"""Posted values as the API reads them, without an event around them."""

from __future__ import annotations

from typing import Any

import pytest

from duecourse.domain.instants import from_iso
from duecourse.domain.job import Precision
from duecourse.domain.schedule import ScheduleSpec
from duecourse.http.models import Rules
from duecourse.http.problems import Problem
from duecourse.http.validation import read_job
from duecourse.usecases.jobs import Draft, anchored, first_occurrence
from tests.support.api import BODY

NOW = from_iso("2026-11-21T12:00:00Z")
RULES = Rules(private_targets=False, lambda_targets=("duecourse-target-*",), default_precision=Precision.EXACT)


def check(spec: ScheduleSpec, exclude: tuple[str, ...]) -> None:
    first_occurrence(anchored(spec, NOW), NOW, exclude)


def read(value: Any) -> Draft:
    return read_job(value, "default", RULES, check)


def errors(value: Any) -> dict[str, str]:
    with pytest.raises(Problem) as refused:
        read(value)
    assert refused.value.status == 422
    return {fault.pointer or "": fault.detail for fault in refused.value.faults}


def posted(**changes: Any) -> dict[str, Any]:
    return BODY | changes
