"""The files of a release for those who have no checkout, and an environment of Python with nothing else."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from infra.uv import environment, find_uv
from scripts.release.__main__ import build, build_stage
from tests.support.distributions import needed
from tests.support.template import MADE_FROM, ROOT, kept

LOCKED = ("aws-cdk-lib", "constructs", "httpx", "tzdata")
"""What the wheels require of others."""


def released() -> Path:
    """The folder with the three wheels and the stage in a file, built once for the same sources."""

    def make(folder: Path) -> None:
        for project in (".", "cdk"):
            build(ROOT / project, "build_wheel", folder)
        build_stage(folder)

    return kept("released", make, (*MADE_FROM, "cdk", "scripts", "pyproject.toml"))


def install(folder: Path, *requirements: str) -> Path:
    """The `bin` folder of a new environment in `folder` with these requirements, and what they require in the locked
    versions.
    """
    uv = find_uv()
    assert uv is not None
    locked = folder.with_suffix(".txt")
    locked.write_text("".join(f"{name}=={version(name)}\n" for name in sorted(needed(list(LOCKED)))))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], env=environment(), check=True)
    command = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder / "bin" / "python")]
    command += ["--constraint", str(locked), "--find-links", str(released()), *requirements]
    if subprocess.run([*command, "--offline"], env=environment(), check=False, capture_output=True).returncode:
        subprocess.run(command, env=environment(), check=True)
    return folder / "bin"


def run(folder: Path, *command: str, path: tuple[Path, ...]) -> str:
    """What a command prints in a folder, on a machine with these tools, a shell and Node. Raises AssertionError."""
    node = Path(shutil.which("node") or "node").parent
    places = os.pathsep.join(map(str, (*path, node, "/usr/bin", "/bin")))
    env = {
        "PATH": places,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
