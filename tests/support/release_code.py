"""An older release's code, run in a process of its own: packed into one archive, which Python imports from."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tests.support.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ROOT / "tests" / "fixtures" / "releases"
PACKAGE = Path("layers/duecourse/python/duecourse")
ENGINE = Path("schedules/src/duecourse_schedules")
SUPPORT = (
    "world", "wheel", "workers", "told", "inputs", "tables", "template", "emulators", "clock", "jobs",
    "shared", "varied", "waiting",
)  # fmt: skip
"""The parts of tests/support that make a world, of the same release as the code."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same code gives the same archive, whenever it was packed."""

_BESIDE = """
import runpy, sys
from importlib.util import module_from_spec, spec_from_file_location
for file in ("release/__init__", "answering_socket", "in_process"):
    name = f"tests.support.{file.partition('/')[0]}"
    spec = spec_from_file_location(name, f"{sys.argv[1]}/{file}.py")
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
runpy.run_module("tests.support.release.__main__", run_name="__main__")
"""
"""Puts the present `release` and `in_process` (with its socket) beside the older parts of tests/support, and nothing
else of now.
"""


def releases() -> list[str]:
    """The names of the recorded releases, the newest last: 1.10.0 follows 1.9.0."""
    names = [path.name for path in RELEASES.iterdir() if path.is_dir()]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def pack(tree: Path, archive: Path) -> None:
    """A release's code, from a tree that has it."""
    files = {
        path.relative_to(tree / package.parent): path
        for package in (PACKAGE, ENGINE)
        for path in sorted((tree / package).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    support = [tree / "tests/support" / f"{name}.py" for name in SUPPORT]
    files |= {path.relative_to(tree): path for path in support if path.exists()}  # older worlds have fewer parts
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=9) as packed:
        for name in ("tests/__init__.py", "tests/support/__init__.py"):
            packed.writestr(ZipInfo(name, EPOCH), b"")
        for inside, path in files.items():
            packed.writestr(ZipInfo(inside.as_posix(), EPOCH), path.read_bytes(), ZIP_DEFLATED)


def ask(archive: Path, what: str, **asked: Any) -> Any:
    """Let a release's code play a scene, carry one on, or read its items (see release/__main__.py)."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-P", "-c", _BESIDE, str(Path(__file__).parent)]
    answer = subprocess.run(
        command,
        input=json.dumps({"what": what, **asked}),
        env=environ | {"PYTHONPATH": str(archive), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    if answer.returncode:
        raise RuntimeError(f"the code of {archive.parent.name} failed: {answer.stderr[-4000:]}")
    return json.loads(answer.stdout)
