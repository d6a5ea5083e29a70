"""The shell functions of the runbooks: they are called with outputs of the stack and with logged actions."""

import re
import subprocess

from tests.support.template import ROOT, template

PAGE = (ROOT / "docs" / "runbooks.md").read_text()
LOGGED = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "observability.md").read_text(), re.MULTILINE))
"""Held against the code by tests/unit/test_actions.py."""

FUNCTIONS = (ROOT / "docs" / "runbooks.sh").read_text()
CODE = FUNCTIONS + "\n".join(re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
CALLS = re.findall(
    r'^(actions|counted|crashes|logged|event_sources|rule_of) (?:"([^"]+)"|(\w+))(?: (\d+) ?(.*))?$', CODE, re.MULTILINE
)


def test_runbook_functions_use_existing_stack_outputs() -> None:
    outputs = set(template("prod")["Outputs"]) | {"$WORKERS"}
    named = {name for _, several, one, *_ in CALLS for name in (several or one).split()}
    assert named - {"OUTPUT", "..."} <= outputs
    assert len(CALLS) > 50


def test_runbook_functions_search_for_logged_actions() -> None:
    searched = {name for called, _, _, _, names in CALLS if called in ("actions", "counted") for name in names.split()}
    assert searched - LOGGED == set()


def test_runbook_functions_are_valid_bash() -> None:
    checked = subprocess.run(["bash", "-n"], input=CODE, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_runbook_functions_build_queries_from_all_actions() -> None:
    """The functions, with a `logged` that prints its query."""
    found = re.findall(r"^(?:actions|counted|crashes)\(\) \{.*?^\}$", FUNCTIONS, re.MULTILINE | re.DOTALL)
    functions = "\n".join(found)
    script = 'logged() { printf "%s\\n" "$3"; }\n' + functions + "\nactions A 1 one two\ncounted A 1 one\ncrashes A 1\n"
    lines = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True).stdout.splitlines()
    assert lines[0].startswith("filter action like /^(one|two)$/ | fields @timestamp, action, ")
    assert lines[0].endswith("| sort @timestamp desc | limit 50")
    assert lines[1].startswith("filter action like /^(one)$/ | stats count() as lines by action, state, ")
    assert lines[2].startswith("filter @message like /Task timed out|")
