"""The declarations of fields: their limits, texts and errors."""

import subprocess
import sys
from dataclasses import is_dataclass
from typing import get_type_hints

import annotated_types
import pytest

from benchmarks.cold.functions import ENVIRONMENT
from duecourse.domain import declared
from duecourse.domain.documents import types_of
from duecourse.domain.jobs import job, rules

NAMES = vars(annotated_types) | vars(declared) | {"rules": rules}
TYPES = [kind for kind in vars(job).values() if isinstance(kind, type) and is_dataclass(kind)]


def test_declared_limits_and_rules_are_not_loaded_by_workers() -> None:
    program = """
import sys
import functions.execute.handler
from duecourse.domain.documents import types_of
from duecourse.domain.jobs.job import Job
types_of(Job)
names = ("annotated_types", "duecourse.api", "duecourse.domain.declared", "duecourse.domain.jobs.rules")
print([name for name in sys.modules if name.startswith(names)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(ENVIRONMENT), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_declared_fields_have_the_types_without_their_declarations(kind: type) -> None:
    hints = get_type_hints(kind, localns=NAMES)
    assert types_of(kind) == {name: hints[name] for name in types_of(kind)}
