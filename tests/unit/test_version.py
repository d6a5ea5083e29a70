import json
import re
import tomllib
from pathlib import Path

from duecourse.version import VERSION
from tests.support.release_code import releases

ROOT = Path(__file__).parents[2]
PYTHON = (".", "cdk", "infra", "schedules")


def project(folder: str) -> dict[str, object]:
    """What a pyproject.toml says of its distribution."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def test_version_is_the_same_in_code_and_packages():
    assert {project(folder)["version"] for folder in PYTHON} == {VERSION}
    assert f"duecourse=={VERSION}" in project("infra")["dependencies"]
    assert project("cdk")["optional-dependencies"] == {"stage": [f"duecourse-stage=={VERSION}"]}
    assert json.loads((ROOT / "clients/typescript/package.json").read_text())["version"] == VERSION


def test_version_licence_is_the_same_in_packages_of_both_languages():
    python = [project(folder)["license"] for folder in PYTHON]
    node = [json.loads((ROOT / folder / "package.json").read_text()) for folder in (".", "console")]
    assert {*python, *(package["license"] for package in node)} == {"Apache-2.0"}
    assert all(package["private"] for package in node)


def test_version_changelog_has_a_section_for_each_recorded_release_newest_first():
    headings = re.findall(r"^## ([\w.-]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings == ["Unreleased", *reversed(releases())]
