"""The example of the README."""

import doctest
from pathlib import Path


def test_schedules_readme_shows_what_its_example_prints() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "README.md"), module_relative=False)
    assert found.attempted >= 5
    assert found.failed == 0
