"""The files that pages name exist: in the repository, in the package, or under tests/."""

import os
import re
from pathlib import Path

import pytest

from tests.support.template import ROOT

PAGES = (
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
NAMED = re.compile(r"[`( ]((?:[\w.-]+/)+[\w.-]+\.py)\b")
FOLDERS = (
    ROOT,
    ROOT / "layers/duecourse/python/duecourse",
    ROOT / "schedules/src/duecourse_schedules",
    ROOT / "tests",
)
OF_OTHERS = {"benchmarks/NAME.py"}
"""A placeholder."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: os.path.relpath(page, ROOT))
def test_file_names_in_the_documentation_exist(page: Path) -> None:
    named = set(NAMED.findall(page.read_text(encoding="utf-8"))) - OF_OTHERS
    assert {name for name in named if not any((folder / name).is_file() for folder in (*FOLDERS, page.parent))} == set()
