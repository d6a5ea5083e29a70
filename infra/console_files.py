"""Builds the console's compressed files with npm. Files are built only once for the same sources."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.bundling import FUNCTIONS, ROOT, BundlingError, Made, copy_code, digest, digest_of, function_hash, run

SOURCES = (
    "console",
    "clients/typescript",
    "layers/duecourse/python/duecourse/api/openapi/openapi.json",
    "package-lock.json",
)
"""The sources of the files: the page's code, the client that it uses, the API's description, and the tools."""

LEFT_OUT = {"dist", "node_modules", "schema.ts"}
"""Files and folders that a build does not read, or generates from openapi.json."""

BUILT = ROOT / ".build" / "console"
FUNCTION = FUNCTIONS / "console"
RECIPE = "1"  # raise it when the steps below change what they build


def sources(root: Path = ROOT) -> Iterator[Path]:
    """Yield the files that a build reads, in a fixed order."""
    for name in SOURCES:
        top = root / name
        for file in [top] if top.is_file() else sorted(top.rglob("*")):
            parts = file.relative_to(root).parts
            if file.is_file() and not any(part.startswith(".") or part in LEFT_OUT for part in parts):
                yield file


def files_hash() -> str:
    """Return the hash of the sources."""
    return digest(RECIPE, *(digest_of(file, ROOT) for file in sources()))


def built_files() -> Path:
    """Return the folder of the compressed files. If it does not exist, one process builds it while others wait."""
    folder = BUILT / files_hash()[:32]
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with TemporaryDirectory(dir=BUILT) as temporary:
                build(Path(temporary) / "files")
                (Path(temporary) / "files").rename(folder)
    return folder


def build(folder: Path) -> None:
    """Write `NAME.br` and `NAME.gz` of each file to `folder`. Raises BundlingError."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None or not (ROOT / "node_modules").is_dir():
        raise BundlingError(
            "Node and its packages are required to build the console, but were not found; run make setup"
        )
    with TemporaryDirectory() as temporary:
        failure = "the console could not be built (after a change of package-lock.json: run make setup)"
        run([npm, "run", "--silent", "build", "--workspace", "console", "--", "--outDir", temporary], failure)
        run([node, str(ROOT / "console" / "compress.mjs"), temporary, str(folder)], failure)


def console() -> Made:
    """Return the content of the console's function: its code and the files."""

    def fill(folder: Path) -> None:
        copy_code(FUNCTION, folder)
        shutil.copytree(built_files(), folder / "files")

    return Made(FUNCTION, digest(function_hash(FUNCTION), files_hash()), fill)
