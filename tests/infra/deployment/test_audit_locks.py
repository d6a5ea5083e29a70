"""`make audit-locks`: what databases answer, and that silence is never taken for a clean bill."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from scripts.audit_locks import Audit, of_node, of_python, report
from tests.support.template import ROOT

VULNERABLE = {
    "dependencies": [
        {"name": "urllib3", "version": "2.0.0", "vulns": []},
        {"name": "jinja2", "version": "3.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.4"], "aliases": []}]},
        {"name": "ours", "skip_reason": "Dependency not found on PyPI and could not be audited: ours (1)"},
    ],
    "fixes": [],
}
NODE = {
    "auditReportVersion": 2,
    "vulnerabilities": {
        "braces": {
            "name": "braces",
            "severity": "high",
            "via": [{"title": "Uncontrolled resource consumption", "severity": "high"}],
            "range": "<3.0.3",
        },
        "micromatch": {"name": "micromatch", "severity": "high", "via": ["braces"], "range": "<4.0.6"},
    },
    "metadata": {"dependencies": {"total": 40}},
}


def test_a_known_vulnerability_is_named_with_the_version_that_mends_it() -> None:
    found = of_python(json.dumps(VULNERABLE))
    assert found == Audit(2, ("jinja2 3.0: PYSEC-1, mended in 3.1.4",), skipped=("ours",))


def test_a_vulnerability_of_the_node_tools_is_named_once_where_it_is() -> None:
    assert of_node(json.dumps(NODE)) == Audit(40, ("braces <3.0.3: Uncontrolled resource consumption (high)",))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Traceback (most recent call last):",
        json.dumps({"dependencies": [], "fixes": []}),
        json.dumps({"dependencies": [{"name": "six", "skip_reason": "not found on PyPI"}], "fixes": []}),
    ],
)
def test_a_database_that_knew_none_of_the_packages_was_not_reached(said: str) -> None:
    """A mirror without PyPI's database answers so, and pip-audit calls that no known vulnerabilities."""
    assert of_python(said) is None


@pytest.mark.parametrize(
    "said",
    ["", "npm error", json.dumps({"message": "405 Method Not Allowed", "statusCode": 405, "error": {"summary": ""}})],
)
def test_a_registry_that_does_not_audit_was_not_reached(said: str) -> None:
    assert of_node(said) is None


@pytest.mark.parametrize(
    ("found", "line", "status"),
    [
        (None, "python locks: no database of vulnerabilities could be reached, skipped", 0),
        (Audit(15, ()), "python locks: no known vulnerability in 15 packages", 0),
        (Audit(15, (), ("ours",)), "python locks: no known vulnerability in 15 packages (not looked up: ours)", 0),
        (Audit(15, ("a 1: X",)), "python locks: known vulnerabilities in 15 packages:\n  a 1: X", 1),
    ],
)
def test_an_audit_of_locks_ends_with_one_line(found: Audit | None, line: str, status: int) -> None:
    assert report("python locks", found) == (line, status)


def test_every_lock_is_audited() -> None:
    from scripts.audit_locks import PYTHON_LOCKS

    told: Any = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    locks = {name for name in told.splitlines() if re.search(r"(^|/)requirements(/\w+)?\.txt$", name)}
    assert set(PYTHON_LOCKS) == locks
