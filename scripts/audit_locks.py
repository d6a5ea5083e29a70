"""Known vulnerabilities of the locked packages: what `make audit-locks` runs.

    .venv/bin/python -m scripts.audit_locks

Asks PyPI's database, else OSV's, about all Python locks by pip-audit, and npm's about the lock of the node tools. What
cannot be reached is said in a line and skipped. The status is 1 where a vulnerability is known.
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
    """What a database said: packages it was asked about, a line for each vulnerability, what it does not know."""

    packages: int
    vulnerabilities: tuple[str, ...]
    skipped: tuple[str, ...] = ()


def of_python(said: str) -> Audit | None:
    """From pip-audit's JSON; None where it gave none, or the database knew not one of the packages: some mirrors answer
    so, which pip-audit takes for no known vulnerability.
    """
    packages: list[dict[str, Any]] = _document(said).get("dependencies", [])
    known = [each for each in packages if "skip_reason" not in each]
    if not known:
        return None
    vulnerabilities = tuple(
        f"{each['name']} {each['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'no version yet'}"
        for each in known
        for one in each["vulns"]
    )
    return Audit(len(known), vulnerabilities, tuple(each["name"] for each in packages if "skip_reason" in each))


def of_node(said: str) -> Audit | None:
    """From `npm audit`'s JSON; None where the registry did not answer with a report."""
    document = _document(said)
    if "auditReportVersion" not in document:
        return None
    return Audit(document["metadata"]["dependencies"]["total"], tuple(_node_vulnerabilities(document)))


def _node_vulnerabilities(document: dict[str, Any]) -> Iterator[str]:
    """Where they are; packages that only depend on such a one are left out."""
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
    """What to say, and the status."""
    if found is None:
        return f"{what}: no database of vulnerabilities could be reached, skipped", 0
    if found.vulnerabilities:
        lines = "\n  ".join(found.vulnerabilities)
        return f"{what}: known vulnerabilities in {found.packages} packages:\n  {lines}", 1
    rest = f" (not looked up: {', '.join(found.skipped)})" if found.skipped else ""
    return f"{what}: no known vulnerability in {found.packages} packages{rest}", 0


def _said(command: Sequence[str]) -> str:
    """What a tool writes to its standard output, whatever its status: a vulnerability is one, too."""
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
    """The command."""
    reports = [report("python locks", _python()), report("package-lock.json", _node())]
    for line, _ in reports:
        print(line)
    return max(status for _, status in reports)


if __name__ == "__main__":
    sys.exit(main())
