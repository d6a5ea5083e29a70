"""The generated modules, formatted like the repository's code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from scripts.client_code.bodies import bodies
from scripts.client_code.document import Document
from scripts.client_code.methods import methods
from scripts.client_code.models import models
from scripts.client_code.typescript import typescript
from scripts.generated import CLIENT, OPERATIONS, ROOT


def written(api: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each file by its path in the repository. `api` is the OpenAPI document."""
    document = Document(api)
    python = {
        "models": models(document),
        "bodies": bodies(document),
        "methods": methods(document, asynchronous=False),
        "async_methods": methods(document, asynchronous=True),
    }
    files = ((f"{CLIENT}/{name}.py", code) for name, code in python.items())
    return {file: _formatted(code, file) for file, code in files} | {OPERATIONS: typescript(document)}


def _formatted(code: str, file: str) -> str:
    """Return the code in the format of the repository, without unused imports."""
    for work in (("check", "--fix", "--select", "F401,I"), ("format",)):
        command = [sys.executable, "-m", "ruff", *work, "--quiet", "--stdin-filename", file, "-"]
        code = subprocess.run(command, input=code, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout
    return code
