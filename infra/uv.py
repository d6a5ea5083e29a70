"""Finds uv on this machine and the package index that it should use. Standard library only.

`scripts/setup.py` uses this module on a machine without dependencies. The builder of the dependencies layer uses it
too.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = (0, 6)  # older versions do not support the options used here
OWN = Path(__file__).resolve().parent.parent / ".tools" / "bin" / "uv"


def find_uv() -> str | None:
    """Return a working uv that is new enough: from the PATH, otherwise the project's own."""
    return next((path for path in _candidates() if _usable(path)), None)


def environment() -> dict[str, str]:
    """Return the environment for uv: the user's environment, with pip's index, certificates and proxy if uv has no such
    settings.
    """
    env = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    env.pop("VIRTUAL_ENV", None)
    pip = _pip_settings()
    if not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & env.keys() and "index-url" in pip:
        env["UV_DEFAULT_INDEX"] = pip["index-url"]
    if "SSL_CERT_FILE" not in env and "cert" in pip:
        env["SSL_CERT_FILE"] = pip["cert"]
    if not {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} & env.keys() and "proxy" in pip:
        env["HTTPS_PROXY"] = pip["proxy"]
    return env


def base_python() -> str:
    """Return the base interpreter of a virtual environment, so that the environment can be created again."""
    return str(Path(getattr(sys, "_base_executable", "") or sys.executable).resolve())


def _candidates() -> Iterator[str]:
    if path := shutil.which("uv"):
        yield path
    if OWN.exists():
        yield str(OWN)


def _usable(path: str) -> bool:
    """Return whether this uv works and is new enough."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.search(r"(\d+)\.(\d+)", said)
    return version is not None and (int(version[1]), int(version[2])) >= OLDEST


def _pip_settings() -> dict[str, str]:
    """Return the settings of pip from its files and from the environment. Later lines (the environment's) take
    precedence.
    """
    command = [base_python(), "-m", "pip", "config", "list"]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    return dict(re.findall(r"^\S*?\.([a-z-]+)='(.*)'$", said, re.MULTILINE))
