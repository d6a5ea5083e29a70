"""What `make setup` says on a machine that lacks something: one clear line, and nothing is left behind."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.uv import base_python
from scripts.setup import SetupError, install_uv
from tests.support.template import ROOT

Setup = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh clone, as far as the setup reads it."""
    folder = tmp_path / "a checkout, für Tests"
    for name in ("scripts", "infra"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "requirements").mkdir()
    for name in ("requirements/dev.txt", "pyproject.toml", "package.json", "package-lock.json"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def setup(checkout: Path, tmp_path: Path) -> Setup:
    """Runs the setup on a machine that has only the tools that are named."""

    def run(named_python: str = "", **tools: str) -> subprocess.CompletedProcess[str]:
        tools_folder = tmp_path / "bin"
        tools_folder.mkdir(exist_ok=True)
        for name in ("sh", "dirname"):
            if not (tools_folder / name).exists():
                (tools_folder / name).symlink_to(str(shutil.which(name)))
        for name, script in tools.items():
            (tools_folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools_folder / name).chmod(0o755)
        return subprocess.run(
            ["sh", "scripts/setup.sh"],
            cwd=checkout,
            env={
                "PATH": str(tools_folder),
                "HOME": str(tmp_path),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHON": named_python,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


PYTHON = f'exec {base_python()} "$@"'


# The interpreter of the environment can only write the generated files, as up to date.
UV = """case "$1 $2" in
    --version*) echo uv 0.13.8 ;;
    venv*)
        /bin/mkdir -p .venv/bin .build
        printf '#!/bin/sh\\ncase "$2" in *generated*) echo {} > .build/generated.json ;; *) exit 1 ;; esac\\n' \\
            > .venv/bin/python
        /bin/chmod +x .venv/bin/python ;;
    "pip install") echo > .venv/bin/duecourse ;;
    *) %s ;;
esac"""
NPM = "/bin/mkdir -p node_modules/.bin; echo > node_modules/.bin/cdk"


def test_setup_missing_suitable_python_is_reported(setup: Setup) -> None:
    done = setup(python3="exit 1")
    assert done.returncode == 1
    assert done.stderr.startswith("setup: Python 3.11 or newer is needed and was not found")
    assert len(done.stderr.splitlines()) == 1


def test_setup_named_python_is_not_silently_replaced(setup: Setup) -> None:
    done = setup(python3=PYTHON, named_python="/nowhere/python3")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["setup: PYTHON=/nowhere/python3 is no Python 3.11 or newer"]


def test_setup_missing_node_is_reported_before_any_download(setup: Setup, checkout: Path) -> None:
    done = setup(python3=PYTHON)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "setup: Node.js 20.19 or newer (with npm) is needed and was not found on the PATH: install it and try again"
    ]
    assert not (checkout / ".venv").exists()


def test_setup_outdated_node_is_reported(setup: Setup) -> None:
    done = setup(python3=PYTHON, node="echo v16.20.2", npm="exit 1")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["setup: Node.js 20.19 or newer (with npm) is needed; this is v16.20.2"]


def test_setup_unreachable_index_is_reported(setup: Setup, checkout: Path) -> None:
    done = setup(python3=PYTHON, uv=UV % "echo no route >&2; exit 2", node="echo v22.1.0", npm=NPM)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "setup: the Python packages could not be installed: check the network"
    )
    assert not list((checkout / ".tools").glob("*.stamp"))


def test_setup_retry_succeeds_after_a_failure_and_a_third_run_does_nothing(setup: Setup) -> None:
    tools = {"python3": PYTHON, "uv": UV % "exit 0", "node": "echo v22.1.0"}
    assert setup(**tools, npm="exit 1").returncode == 1
    second = setup(**tools, npm=NPM)
    assert second.returncode == 0
    assert "installing the Node tools" in second.stdout
    assert "Python packages" not in second.stdout
    third = setup(**tools, npm=NPM)
    assert (third.returncode, third.stdout) == (0, "")


def test_setup_full_disk_is_reported_in_one_message_with_the_remedy(setup: Setup, checkout: Path) -> None:
    full = UV.replace("/bin/chmod +x .venv/bin/python", "/bin/ln -s /dev/full .venv/.made")
    done = setup(python3=PYTHON, uv=full % "exit 0", node="echo v22.1.0", npm=NPM)
    assert done.returncode == 1
    assert done.stderr.startswith("setup: No space left on device: the disk is full: free about 3 GB")
    assert len(done.stderr.splitlines()) == 1
    assert not list((checkout / ".tools").glob("*.stamp"))


def test_setup_requires_neither_venv_nor_pip(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(SetupError, match="has no working venv and no pip: install them"):
        install_uv(tmp_path / "uv", str(python))
