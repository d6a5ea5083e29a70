"""The faults that `make prove-mutants` plants."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.prove.draw import PROFILES
from tests.prove.mutants import MUTANTS, Mutant, changed, package, rows


@pytest.fixture(scope="module")
def sources() -> dict[Path, str]:
    return package()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_apply_to_the_current_source(mutant: Mutant, sources: dict[Path, str]) -> None:
    assert mutant.profile in PROFILES
    for source in changed(mutant, sources).values():
        ast.parse(source)


def test_mutants_have_unique_names() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30


def test_mutants_table_has_a_row_for_each_mutant() -> None:
    assert set(rows()) == {mutant.name for mutant in MUTANTS}
