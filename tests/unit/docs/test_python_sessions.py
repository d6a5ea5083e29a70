"""Python sessions in the documentation print what they say."""

import doctest
import re
from pathlib import Path

import pytest

from tests.support.template import ROOT

SESSIONS = re.compile(r"^```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if SESSIONS.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_python_sessions_in_the_documentation_print_the_shown_output(page: Path) -> None:
    text = "".join(SESSIONS.findall(page.read_text()))
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    said: list[str] = []
    failed = doctest.DocTestRunner().run(session, out=said.append)
    assert failed.attempted
    assert not failed.failed, "".join(said)
