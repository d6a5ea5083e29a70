"""The generated modules, formatted like the repository's code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from duecourse.api.openapi.served import FILE
from scripts.client_code.bodies import bodies
from scripts.client_code.document import Document
from scripts.client_code.methods import methods
from scripts.client_code.models import models
from scripts.client_code.typescript import typescript

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "layers" / "duecourse" / "python" / "duecourse" / "client"
FILES = ("models.py", "bodies.py", "methods.py", "async_methods.py")
TYPESCRIPT = ROOT / "clients" / "typescript" / "src" / "operations.ts"


def written() -> dict[Path, str]:
    """Return the files' contents, formatted like the repository's code."""
    document = Document(json.loads(FILE.read_bytes()))
    made = (
        models(document),
        bodies(document),
        methods(document, asynchronous=False),
        methods(document, asynchronous=True),
    )
    python = {CLIENT / name: _formatted(code, name) for name, code in zip(FILES, made, strict=True)}
    return python | {TYPESCRIPT: typescript(document)}


def _formatted(code: str, name: str) -> str:
    ruff, file = str(Path(sys.executable).with_name("ruff")), ("--stdin-filename", str(CLIENT / name), "-")
    fixed = [ruff, "check", "--quiet", "--fix", "--select", "F401,I", *file]
    code = subprocess.run(fixed, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    shaped = [ruff, "format", "--quiet", *file]
    return subprocess.run(shaped, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
