import tomllib
from pathlib import Path

from duecourse.version import VERSION


def test_code_and_package_have_one_version():
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == VERSION
