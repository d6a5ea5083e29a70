"""The tests in docs/testing.md pass, as an application would run them."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.template import ROOT


def test_testing_page_examples_pass(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    written = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    (tmp_path / "test_page.py").write_text(written)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"{written.count('def test_')} passed" in done.stdout, done.stdout + done.stderr
