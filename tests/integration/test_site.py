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


def test_site_loads_nothing_from_another_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not LOADED.search(page.read_text()), page.name
        assert 'class="mermaid"' not in page.read_text(), f"{page.name}: mermaid comes from another host"


def test_site_shows_dollar_signs_as_text_and_hides_number_markers(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert 'class="arithmatex"' not in text, page.name
        assert page.name == "CONTRIBUTING.html" or "&lt;!-- n:" not in text, page.name
    assert "production stage costs $" in (site / "index.html").read_text().replace("&#36;", "$")


def test_site_menu_contains_every_page_except_decisions() -> None:
    menu = set(re.findall(r'"([^"]+\.md)"', CONFIGURATION.read_text()))
    assert tomllib.loads(CONFIGURATION.read_text())["project"]["site_name"] == "Duecourse"
    others = {name for name in pages() if not name.startswith("decisions/")}
    assert others - menu == {"SECURITY.md"}
    assert menu <= set(pages())


def test_site_reference_contains_every_field_command_and_setting() -> None:
    made = pages()
    assert "| `schedule` (required) |" in made["reference/job.md"]
    assert "| `max_attempts` | integer | `4` | at least 1, at most 100 |" in made["reference/job.md"]
    assert "## duecourse runs list" in made["reference/commands.md"]
    assert '| `deployment` | `"all_at_once"` |' in made["reference/settings.md"]
