"""docs/comparison.md: each mark of Duecourse links to the heading that proves it."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.support.template import ROOT

DOCS = ROOT / "docs"
PAGE = DOCS / "comparison.md"
COLUMNS = ("Duecourse", "EventBridge", "Temporal", "Airflow", "Kestra", "Hatchet", "Trigger.dev", "Inngest", "pg-boss")
MARKS = {"yes", "partly", "no", "?", "n/a"}
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def _cells(line: str) -> Sequence[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _rows() -> Iterator[Sequence[str]]:
    """The rows of the tables of features: the feature's name, then a mark for each column."""
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = _cells(line)
        if tuple(cells[1:]) == COLUMNS:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not set(line) <= set("|-"):
            yield cells


ROWS = list(_rows())


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as the site makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return frozenset(re.sub(r"[-\s]+", "-", heading) for heading in plain)


def _proved(cell: str) -> bool:
    """Whether a mark of Duecourse is "no", or is a link to a heading that exists."""
    found = LINK.fullmatch(cell)
    if found is None:
        return cell == "no"
    name, _, anchor = found[2].partition("#")
    return found[1] in {"yes", "partly"} and (DOCS / name).is_file() and anchor in _anchors(DOCS / name)


def test_comparison_has_about_sixty_unique_rows() -> None:
    features = [row[0] for row in ROWS]
    assert 55 <= len(features) <= 75
    assert len(set(features)) == len(features)


def test_comparison_rows_have_one_mark_for_each_product() -> None:
    marks = {row[0]: [LINK.sub(r"\1", cell) for cell in row[1:]] for row in ROWS}
    assert {
        name: found for name, found in marks.items() if len(found) != len(COLUMNS) or not MARKS.issuperset(found)
    } == {}


def test_comparison_marks_of_duecourse_link_to_the_heading_that_proves_them() -> None:
    assert {row[0]: row[1] for row in ROWS if not _proved(row[1])} == {}


def test_comparison_links_all_resolve() -> None:
    targets = {target for _, target in LINK.findall(PAGE.read_text(encoding="utf-8")) if "://" not in target}
    places = {target: target.partition("#") for target in targets}
    pages = {target: PAGE.parent / name if name else PAGE for target, (name, _, _) in places.items()}
    assert {target for target, page in pages.items() if not page.is_file()} == set()
    assert {t for t, (_, _, anchor) in places.items() if anchor and anchor not in _anchors(pages[t])} == set()
