"""The documentation as a site: it is built without a broken link, loads nothing from elsewhere, leaves no page out."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.site_pages import CONFIGURATION, pages, write

LOADED = re.compile(r'<(?:script|img|iframe|link)[^>]+(?:src|href)="(https?:)?//')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write(folder)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not LOADED.search(page.read_text()), page.name
        assert 'class="mermaid"' not in page.read_text(), f"{page.name}: mermaid comes from another host"


def test_dollars_are_no_mathematics_and_marks_of_numbers_are_not_shown(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert 'class="arithmatex"' not in text, page.name
        assert page.name == "CONTRIBUTING.html" or "&lt;!-- n:" not in text, page.name
    assert "production stage costs $" in (site / "index.html").read_text().replace("&#36;", "$")


def test_every_page_is_in_the_menu_but_decisions_which_have_a_list() -> None:
    menu = set(re.findall(r'"([^"]+\.md)"', CONFIGURATION.read_text()))
    assert tomllib.loads(CONFIGURATION.read_text())["project"]["site_name"] == "Duecourse"
    others = {name for name in pages() if not name.startswith("decisions/")}
    assert others - menu == {"SECURITY.md"}
    assert menu <= set(pages())


def test_the_reference_has_every_field_command_and_setting() -> None:
    made = pages()
    assert "| `schedule` (required) |" in made["reference/job.md"]
    assert "| `max_attempts` | integer | `4` | at least 1, at most 100 |" in made["reference/job.md"]
    assert "## duecourse runs list" in made["reference/commands.md"]
    assert '| `deployment` | `"all_at_once"` |' in made["reference/settings.md"]
