"""The numbers of README and docs are those of the benchmarks' results, and every number that should be is marked."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.figures import FIGURES
from benchmarks.measured import SOURCES, fingerprint, stale
from benchmarks.published import MARK, ROOT, UnknownFigureError, filled, pages, write
from benchmarks.results import BENCHMARKS, PAGE, PLOTS, RESULTS, kept
from benchmarks.results_pages.page import STALE, results_page

PAGES = {page.relative_to(ROOT).as_posix(): page for page in pages()}

AMOUNT = r"\d[\d.,]*"
UNIT = r"USD|dollars?|cents?|WRU|RRU|write units?|read units?|ms|runs a second|runs/s"
FIGURE = re.compile(rf"\$ ?{AMOUNT}|USD {AMOUNT}|{AMOUNT} (?:{UNIT})\b|\bp(?:50|99) (?:\w+ )?{AMOUNT}")
CODE = re.compile(r"^( *)(`{3,}).*?^\1\2$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL)
"""A table that is generated whole. A test of its own compares it."""
CITED = re.compile(r'"[^"]+"|Guide|Reference|Pricing|quotas')
"""A row of a table that names its source at AWS publishes a limit of AWS."""

FACTS: Mapping[str, tuple[str, ...]] = {
    "docs/operations.md": ("$5", "40,000 write units", "20,000 runs a second"),
    "docs/security.md": ("250 ms",),
    "docs/sizing.md": ("1,600 runs a second", "2,000 runs a second", "1,000 write units"),
}
"""What pages may name without a mark: prices and limits of AWS that the cost model does not use, constants of the code,
and the arithmetic of docs/operations.md and docs/sizing.md.
"""


def unmarked(text: str) -> Iterator[str]:
    """Figures outside marks, code and rows that cite AWS."""
    rows_and_paragraphs = re.sub(r"\n(?=[^\n|])", " ", MARK.sub(" ", GENERATED.sub(" ", CODE.sub(" ", text))))
    for line in rows_and_paragraphs.splitlines():
        if not (line.startswith("|") and CITED.search(line)):
            yield from FIGURE.findall(line)


@pytest.mark.parametrize("name", PAGES)
def test_published_numbers_are_those_of_the_results(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    assert text == filled(text, kept(RESULTS)), f"{name} differs from benchmarks/results: run `make numbers`"


@pytest.mark.parametrize("name", PAGES)
def test_published_numbers_are_all_marked(name: str) -> None:
    found = [
        figure for figure in unmarked(PAGES[name].read_text(encoding="utf-8")) if figure not in FACTS.get(name, ())
    ]
    assert not found, f"{name}: mark {found} (CONTRIBUTING.md, Benchmarks), or name a fact of AWS in FACTS"


@pytest.mark.parametrize("name", PAGES)
def test_published_numbers_have_marks_that_no_renderer_shows(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    assert text.count("<!-- n:") == text.count("<!-- /n -->") == len(MARK.findall(text)), "a mark is not complete"
    assert not re.search(r"^\s*<!-- n:", text, re.MULTILINE), "a comment at the beginning of a line ends its paragraph"
    assert not any(MARK.search(code[0]) for code in CODE.finditer(text)), "a comment is visible in code"


def test_published_facts_and_figures_are_all_used() -> None:
    texts = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()}
    assert FIGURES.keys() == {name for text in texts.values() for _, name, _, _ in MARK.findall(text)}
    for name, facts in FACTS.items():
        assert set(facts) <= set(unmarked(texts[name])), f"{name}: FACTS names what the page does not say"


@pytest.mark.parametrize(
    "text",
    [
        "costs about $10.60 a month",
        "costs 11 cents",
        "USD 5 a million",
        "8 to 11 WRU",
        "takes 25 ms",
        "p99 0.3 s",
        "12 write units",
    ],
)
def test_published_number_without_a_mark_is_found(text: str) -> None:
    assert list(unmarked(text))


def test_published_number_may_be_in_code_in_a_mark_or_from_aws() -> None:
    assert not list(unmarked("`$1` and\n```bash\necho $1\n```\n<!-- n:idle -->$10.62<!-- /n --> a month"))
    assert not list(unmarked('| a new table | 4,000 WRU a second | DynamoDB Developer Guide, "Quotas" |'))


def test_published_number_is_replaced_by_that_of_the_results(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks").mkdir()
    for name in ("README.md", "ARCHITECTURE.md", "benchmarks/README.md"):
        (tmp_path / name).write_text("costs <!-- n:idle -->$9.99<!-- /n --> a month")
    results = {"cost": {"idle_month": {"16_shards": {"total": 1234.5}}}}
    assert len(write(results, tmp_path)) == 3
    assert (tmp_path / "README.md").read_text() == "costs <!-- n:idle -->$1,234.50<!-- /n --> a month"
    assert not write(results, tmp_path)


@pytest.mark.parametrize("name", ["idle", "nothing"])
def test_published_number_without_a_result_is_named(name: str) -> None:
    with pytest.raises(UnknownFigureError, match=name):
        filled(f"<!-- n:{name} -->1<!-- /n -->", {})


def test_published_results_page_is_generated_from_the_stored_results() -> None:
    drawn = sorted(path.name for path in PLOTS.glob("*.png"))
    assert PAGE.read_text(encoding="utf-8").replace(STALE, "") == results_page(kept(RESULTS), drawn), (
        "run `make numbers`"
    )


def test_published_stale_results_are_those_whose_files_have_changed(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    source = tmp_path / "benchmarks" / "wait_queue.py"
    source.write_text("one = 1\n")
    documents = {"wait_queue": {"measured": fingerprint("wait_queue", tmp_path)}}
    assert not stale(documents, tmp_path)
    source.write_text("one = 2\n")
    assert stale(documents, tmp_path) == {"wait_queue"}
    assert stale({"wait_queue": {}}, tmp_path) == {"wait_queue"}


def test_published_stale_results_are_not_those_whose_docstrings_and_comments_have_changed(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    source = tmp_path / "benchmarks" / "wait_queue.py"
    source.write_text('"""One."""\nLIMIT = 1  # runs\n"""One\nrun."""\ntext = \'# 1\'\n')
    documents = {"wait_queue": {"measured": fingerprint("wait_queue", tmp_path)}}
    source.write_text('# Two.\n\nLIMIT = 1\n"""The limit."""\n\ntext = \'# 1\'  # a comment\n')
    assert not stale(documents, tmp_path)
    source.write_text("LIMIT = 1\ntext = '# 2'\n")
    assert stale(documents, tmp_path) == {"wait_queue"}


def test_published_stale_results_are_marked_on_their_page() -> None:
    documents = {"wait_queue": {"date": "2026-11-21", "budgets": {"a": True}}}
    assert f"| wait_queue | 2026-11-21 | kept{STALE} |" in results_page(documents, stale={"wait_queue"})
    assert STALE not in results_page(documents)


def test_published_measured_files_exist_for_every_benchmark() -> None:
    assert SOURCES.keys() == BENCHMARKS.keys()
    for name, sources in SOURCES.items():
        for source in sources:
            assert (ROOT / source).exists(), (
                f"{name}: {source} does not exist; correct SOURCES in benchmarks/measured.py"
            )
