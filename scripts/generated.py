"""The files that are generated from the code and are not in git: the API's document, clients, the console's targets.

`make setup`, the build of a wheel, `cdk synth` and the tests call `refresh`. It takes two seconds if a file is missing
or out of date, and some milliseconds otherwise. This module uses only the standard library, apart from `write`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "layers" / "duecourse" / "python"
ENGINE = ROOT / "schedules" / "src"
STAMP = ROOT / ".build" / "generated.json"
"""The hashes of the files and of their sources."""

DOCUMENT = "layers/duecourse/python/duecourse/api/openapi/openapi.json"
CLIENT = "layers/duecourse/python/duecourse/client"
KINDS = "console/src/shared/kinds.json"
OPERATIONS = "clients/typescript/src/operations.ts"
FILES = (
    DOCUMENT,
    *(f"{CLIENT}/{name}.py" for name in ("models", "bodies", "methods", "async_methods")),
    OPERATIONS,
    KINDS,
)
"""The generated files, relative to ROOT."""

TOOLS = "requirements/dev.txt"
"""The lock file of the packages that generate the files."""


class GenerationError(RuntimeError):
    """The files could not be generated. The message has the remedy."""


def refresh(python: str = sys.executable) -> bool:
    """Write the files with the interpreter `python` unless they are up to date. Return whether they were written.
    Raises GenerationError.
    """
    if up_to_date():
        return False
    paths = os.pathsep.join(filter(None, (str(PACKAGE), str(ENGINE), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [python, "-c", "from scripts.generated import write; write()"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise GenerationError(
            "the files that are generated from the code could not be written; correct this error (if a package is "
            f"missing: run make setup):\n{done.stdout}{done.stderr}".rstrip()
        )
    return True


def up_to_date() -> bool:
    """Return whether no file and no source of them has changed since they were written."""
    try:
        known: dict[str, str] = json.loads(STAMP.read_bytes())
        return all(_digest(name) == digest for name, digest in known.items())
    except (OSError, ValueError):
        return False


def write() -> None:
    """Write the files. Their sources are the modules that this process has imported."""
    from scripts import console_kinds
    from scripts.client_code.written import written
    from scripts.openapi.document import as_text, assemble

    text = as_text(assemble())
    document = json.loads(text)
    texts = {DOCUMENT: text, KINDS: console_kinds.written(document), **written(document)}
    for name, text in texts.items():
        _store(ROOT / name, text)
    files = [Path(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))]
    own = (str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT))
    sources = {name for name in own if not name.startswith(".")}  # .venv, .build
    STAMP.parent.mkdir(exist_ok=True)
    _store(STAMP, json.dumps({name: _digest(name) for name in sorted({*FILES, TOOLS, *sources})}, indent=1))


def _digest(name: str) -> str:
    return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


def _store(path: Path, text: str) -> None:
    """Replace a file at once, since another process may read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    refresh()
