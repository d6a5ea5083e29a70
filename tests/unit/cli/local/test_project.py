"""What must be there before anything starts, and the one line that says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from duecourse.cli.local.project import check_python, find_cdk, find_node, find_root, node_version
from duecourse.cli.terminal import CliError


def program(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_the_checkout_is_found_from_a_folder_inside_it(tmp_path: Path) -> None:
    (tmp_path / "cdk.json").touch()
    (tmp_path / "app.py").touch()
    (inside := tmp_path / "tests" / "unit").mkdir(parents=True)

    assert find_root(inside) == tmp_path


def test_outside_a_checkout_the_commands_own_one_is_used(tmp_path: Path) -> None:
    assert (find_root(tmp_path) / "layers" / "duecourse").is_dir()


def test_a_missing_node_is_said(tmp_path: Path) -> None:
    with pytest.raises(CliError, match=r"Node is missing: the CDK CLI needs Node 20\.19 or newer"):
        find_node(path=str(tmp_path))


def test_a_node_that_is_too_old_is_said_with_its_version(tmp_path: Path) -> None:
    program(tmp_path, "node", "echo v18.19.0")

    with pytest.raises(CliError, match=r"Node v18\.19\.0 is too old"):
        find_node(path=str(tmp_path))


def test_a_node_that_does_not_run_is_said(tmp_path: Path) -> None:
    program(tmp_path, "node", "exit 3")

    with pytest.raises(CliError, match="Node does not run"):
        find_node(path=str(tmp_path))


def test_a_node_that_is_new_enough_is_found(tmp_path: Path) -> None:
    program(tmp_path, "node", "echo v22.1.0")

    assert find_node(path=str(tmp_path)) == tmp_path / "node"
    assert node_version("something else") == (0, 0)


def test_a_missing_cdk_cli_points_to_the_setup(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="run `make setup`"):
        find_cdk(tmp_path)


def test_a_python_that_is_too_old_is_said_with_its_version() -> None:
    with pytest.raises(CliError, match=r"Python 3\.9 is too old: install Python 3\.11 or newer"):
        check_python((3, 9))
