"""The locks: hashed, without the name of any host."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from tests.support.template import ROOT

PYTHON_LOCKS = (
    "layers/dependencies/requirements.txt",
    "requirements/dev.txt",
    "requirements/bench.txt",
    "requirements/audit.txt",
    "requirements/uv.txt",
)


def versions(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE))


@pytest.mark.parametrize("lock", [*PYTHON_LOCKS, "package-lock.json"])
def test_no_lock_names_a_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert "--index" not in text
    assert '"resolved"' not in text.replace('"resolved": "console"', ""), "but for the workspace's folder"


@pytest.mark.parametrize("lock", PYTHON_LOCKS)
def test_every_locked_package_has_hashes(lock: str) -> None:
    for requirement in re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in requirement, requirement


def test_what_is_tested_is_what_runs() -> None:
    assert versions("layers/dependencies/requirements.txt").items() <= versions("requirements/dev.txt").items()


def test_the_extra_server_is_what_the_functions_install() -> None:
    """But for botocore, which the layer pins to what the emulator resolves with, and what every program has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "layers" / "dependencies" / "requirements.in").read_text().splitlines()
    layer = {line for line in lines if line and not line.startswith(("#", "botocore=="))}
    base = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert set(project["optional-dependencies"]["server"]) == layer - base


@pytest.mark.parametrize("lock", ["requirements/bench.txt", "requirements/audit.txt"])
def test_what_is_added_for_a_while_changes_no_version_of_the_environment(lock: str) -> None:
    tested, added = versions("requirements/dev.txt"), versions(lock)
    assert {name: tested[name] for name in tested.keys() & added.keys()}.items() <= added.items()


def test_node_tools_are_pinned_and_have_hashes() -> None:
    tools = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"[0-9.]+", version) for version in tools.values())
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    brought = [package for name, package in packages.items() if name.startswith("node_modules/")]
    assert all("integrity" in package or package.get("link") for package in brought)
    console = json.loads((ROOT / "console" / "package.json").read_text())
    assert all(
        re.fullmatch(r"[0-9.]+", each) for kind in ("d", "devD") for each in console[f"{kind}ependencies"].values()
    )
