"""Check the locked packages for known vulnerabilities (`make audit-locks`).

    .venv/bin/python -m scripts.audit_locks

Checks all Python locks with pip-audit, in the database of PyPI or, if it is not available, of OSV. Checks the lock of
the Node tools with `npm audit`. A check without an available database is skipped with one line. The exit code is 1 if
there is a known vulnerability.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.uv import environment, find_uv

ROOT = Path(__file__).resolve().parent.parent
TOOLS = "requirements/audit.txt"
PYTHON_LOCKS = (
    "layers/dependencies/requirements.txt",
    "requirements/dev.txt",
    "requirements/bench.txt",
    TOOLS,
    "requirements/uv.txt",
)
SERVICES = ("pypi", "osv")
MAX_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit: the number of checked packages, one line per vulnerability, and the unknown packages."""

    packages: int
    vulnerabilities: tuple[str, ...]
    skipped: tuple[str, ...] = ()


def of_python(said: str) -> Audit | None:
    """Read pip-audit's JSON. Return None if there is none, or if the database knows none of the packages.

    Some mirrors know no packages, and pip-audit reports this as no known vulnerability.
    """
    packages: list[dict[str, Any]] = _document(said).get("dependencies", [])
    known = [each for each in packages if "skip_reason" not in each]
    if not known:
        return None
    vulnerabilities = tuple(
        f"{each['name']} {each['version']}: {one['id']}, fixed in {', '.join(one['fix_versions']) or 'no version yet'}"
        for each in known
        for one in each["vulns"]
    )
    return Audit(len(known), vulnerabilities, tuple(each["name"] for each in packages if "skip_reason" in each))


def of_node(said: str) -> Audit | None:
    """Read the JSON of `npm audit`. Return None if the registry did not return a report."""
    document = _document(said)
    if "auditReportVersion" not in document:
        return None
    return Audit(document["metadata"]["dependencies"]["total"], tuple(_node_vulnerabilities(document)))


def _node_vulnerabilities(document: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each vulnerability. Packages that only depend on a vulnerable package are omitted."""
    for name, each in document["vulnerabilities"].items():
        for one in each["via"]:
            if isinstance(one, dict):
                yield f"{name} {each['range']}: {one['title']} ({one['severity']})"


def _document(said: str) -> dict[str, Any]:
    try:
        document = json.loads(said)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def report(what: str, found: Audit | None) -> tuple[str, int]:
    """Return the text of the report and the exit code."""
    if found is None:
        return f"{what}: no database of vulnerabilities could be reached, skipped", 0
    if found.vulnerabilities:
        lines = "\n  ".join(found.vulnerabilities)
        return f"{what}: known vulnerabilities in {found.packages} packages:\n  {lines}", 1
    rest = f" (not looked up: {', '.join(found.skipped)})" if found.skipped else ""
    return f"{what}: no known vulnerability in {found.packages} packages{rest}", 0


def _said(command: Sequence[str]) -> str:
    """Return the standard output of a tool. The status is ignored, because vulnerabilities change it too."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=MAX_SECONDS, env=environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _python() -> Audit | None:
    uv = find_uv()
    if uv is None:
        return None
    _said([uv, "pip", "install", "--quiet", "--require-hashes", "--python", sys.executable, "-r", TOOLS])
    pip_audit = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--format", "json"]
    locks = [word for lock in PYTHON_LOCKS for word in ("-r", lock)]
    answers = (of_python(_said([*pip_audit, "--vulnerability-service", service, *locks])) for service in SERVICES)
    return next((found for found in answers if found is not None), None)


def _node() -> Audit | None:
    npm = shutil.which("npm")
    return None if npm is None else of_node(_said([npm, "audit", "--package-lock-only", "--json"]))


def main() -> int:
    """Run the command and return its exit code."""
    reports = [report("python locks", _python()), report("package-lock.json", _node())]
    for line, _ in reports:
        print(line)
    return max(status for _, status in reports)


if __name__ == "__main__":
    sys.exit(main())
