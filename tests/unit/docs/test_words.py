"""The words of the documentation: none that a reader stumbles over, and not too many."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
MOST_WORDS = 76_700
"""State each fact once and link to it; raise this bound only for a new feature."""

AVOIDED = {
    "nobody, somebody, anybody": r"nobody|somebody|anybody",
    "whoever, whomever, whose turn": r"whoever|whomever|whose turn",
    "told, tells": r"told|tells?",
    "stands (for, at, there)": r"stands?",
    "in vain": r"in vain",
    "by hand: manually, on request": r"by hand",
    "anew: again, new": r"anew",
    "line, in line: wait queue": r"in line|waiting lines?",
    "set aside: quarantined": r"set aside",
    "narrowed scope: tag-scoped permission": r"narrowed",
    "patrol: index repair": r"patrol(?:s|led)?",
    "sweep: dead-letter reconciler": r"swe(?:ep|eps|pt)",
    "member of a workflow: step": r"members?",
    "jobs before it: upstream steps": r"jobs? before (?:it|them)",
    "owes": r"owes?",
    "beside oneself and besides: also": r"besides",
    "goes well, goes on: succeeds, continues": r"goes (?:well|on)|went (?:well|on)",
    "rings: goes off": r"rings?",
    "mend: correct, repair": r"mends?|mended",
    "asks: requires, requests, prompts, calls": r"asks?|asked|asking",
    "whom": r"whom",
    "not any more: no longer": r"any more",
    "for ever: indefinitely": r"for ever",
    "time-out: timeout": r"time-outs?",
    "fresh allowance of attempts: new set of attempts": r"fresh allowances?",
    "alive, at work, under way: active (a run), in progress (a call)": r"alive|at work|under way",
    "has begun: has started": r"begun",
    "afresh: again": r"afresh",
    "awaits: waits for": r"awaits|awaited",
}
"""What to avoid, with the field's term."""

NAMED = re.compile(r"(?<=\|)[ ◆,]*(?:(?:api|audit|dispatch|execute|reconcile|repair)[ ◆,]*)+(?=\|)")
"""A cell with names of functions."""


def prose(page: str) -> str:
    """A page without code, comments, the targets of links and what is made from the API's code."""
    page = re.sub(r"<!-- routes.*?<!-- end of routes -->", "", page, flags=re.DOTALL)
    page = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    return NAMED.sub("", re.sub(r"`[^`]*`", "", re.sub(r"\]\([^)\s]*\)", "]", page)))


def words(page: str) -> int:
    """How many words a page has: tokens with a letter or a digit, code included, comments and the table of measured
    requests not.
    """
    written = re.sub(r"<!-- requests -->.*?<!-- /requests -->|<!--.*?-->", "", page, flags=re.DOTALL)
    return sum(re.search(r"\w", token) is not None for token in written.split())


@pytest.mark.parametrize("avoided", AVOIDED)
def test_words_of_the_documentation_are_standard_terms(avoided: str) -> None:
    word = re.compile(rf"\b(?:{AVOIDED[avoided]})\b", re.IGNORECASE)
    found = [
        f"{name}: {line.strip()}"
        for name, page in PAGES.items()
        for line in prose(page).splitlines()
        if word.search(line)
    ]
    assert found == []


def test_words_of_the_documentation_stay_below_the_limit() -> None:
    counted = {name: words(page) for name, page in PAGES.items()}
    assert sum(counted.values()) <= MOST_WORDS, sorted(counted.items(), key=lambda each: -each[1])[:10]


def test_words_in_rows_of_tables_are_below_the_heading_of_their_table() -> None:
    def rowless(page: str) -> list[str]:
        code = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.MULTILINE | re.DOTALL)
        blocks = re.findall(r"(?:^ *\|.*\n?)+", code, flags=re.MULTILINE)
        return [block for block in blocks if not re.match(r".*\n *\|[ :|-]+\n", block)]

    assert {name: found for name, page in PAGES.items() if (found := rowless(page))} == {}


@pytest.mark.parametrize(
    "term",
    [
        *("DAG", "misfire", "catch-up", "upstream", "tombstone", "circuit breaker", "concurrency key", "data interval"),
        *("dead man's switch", "poison message", "cron", "timezone", "idempotency"),
    ],
)
def test_words_commonly_searched_for_are_in_the_glossary(term: str) -> None:
    assert term in PAGES["docs/concepts.md"].partition("## Glossary")[2]
