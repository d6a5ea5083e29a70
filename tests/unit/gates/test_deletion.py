"""What one gate costs the other files: the server works without rates once their gate and a few lines are removed.

tests/fixtures/without_rates.diff has those lines. If it no longer applies, make the change in a copy, and replace the
diff with the output of `git diff -U2`, without the deletion of the gate.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.template import ROOT
from tests.support.tree_copy import PACKAGE, Copy
from tests.unit.docs.test_recipes import apply, lint, touched

DIFF = (ROOT / "tests" / "fixtures" / "without_rates.diff").read_text(encoding="utf-8")
GATE = f"{PACKAGE}/duecourse/gates/rate.py"

MOST = 7
"""How many other files of the server may name a gate."""

FOR_USERS = ("cli", "client", "testing", "worker")

OF_RATES = re.compile(r"\b(Rate|RateGate|rate_key|rate_queue)\b|rate\W+per_minute\b|gates\.rate")
"""What tests of rates name, whole files or single tests. The other files must pass. The pace of operations is also
`per_minute`.
"""

FOLDERS = (
    *("tests/unit/api", "tests/unit/cli", "tests/unit/client", "tests/unit/domain", "tests/unit/gates"),
    *("tests/unit/usecases", "tests/scenarios/overlap", "tests/scenarios/worker"),
)


def test_deletion_of_the_rate_gate_touches_few_other_files_of_the_server() -> None:
    inside = [Path(file).relative_to(f"{PACKAGE}/duecourse") for file in touched(DIFF) if file.startswith(PACKAGE)]
    server = [file for file in inside if file.parts[0] not in FOR_USERS]
    assert len(server) <= MOST, server


@pytest.fixture
def without_rates(tmp_path: Path) -> Iterator[Copy]:
    """A copy of this tree without the gate."""
    copy = Copy(tmp_path)
    (copy.folder / GATE).unlink()
    apply(DIFF, copy)
    yield copy
    shutil.rmtree(tmp_path)


@pytest.mark.extended
def test_deletion_of_the_rate_gate_leaves_all_tests_but_those_of_rates_passing(without_rates: Copy) -> None:
    lint([file for file in touched(DIFF) if file.startswith(PACKAGE)], without_rates)
    files = [file.relative_to(ROOT) for folder in FOLDERS for file in sorted((ROOT / folder).rglob("test_*.py"))]
    kept = [str(file) for file in files if OF_RATES.search((ROOT / file).read_text(encoding="utf-8")) is None]
    assert len(files) - len(kept) < 10
    command = ("-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", "-m", "not extended and not fuzz")
    without_rates.python(*command, *(file for file in kept if not file.endswith("test_deletion.py")))
