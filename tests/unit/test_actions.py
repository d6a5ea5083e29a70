"""The tables of docs/observability.md, held against the code: every action and every metric, and none that is not."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from duecourse.telemetry import EVEN_WHEN_ZERO, LOGGED_ONLY
from tests.support.told_names import actions, documented_fields, metrics, texts, words

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "observability.md").read_text()


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the table under a heading."""
    _, _, section = PAGE.partition(f"\n## {heading}\n")
    for line in section.partition("\n## ")[0].splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


ACTIONS = {
    action.strip("`"): set(cells[0].split(", ")) if len(cells) == 3 else {"info"} for action, *cells in rows("Logs")
}
"""The levels by action. The second table, of the API, has no column for them."""
METRICS = {cells[0].strip("`") for cells in rows("Metrics")}


def test_observability_tables_contain_every_action_of_the_code() -> None:
    assert [name for name in sorted(actions()) if not any(fnmatchcase(row, name) for row in ACTIONS)] == []


def test_observability_tables_contain_only_actions_of_the_code() -> None:
    assert [row for row in ACTIONS if not any(fnmatchcase(row, name) for name in actions())] == []


def test_observability_tables_contain_only_fields_of_the_code() -> None:
    fields = documented_fields()
    assert {action: names - words() for action, names in fields.items() if not names <= words()} == {}
    assert fields["run_skipped"] == fields["run_settled"] >= {"lateness_seconds", "code"}


@pytest.mark.parametrize("row", ACTIONS)
def test_observability_tables_contain_the_levels_at_which_actions_are_logged(row: str) -> None:
    logged = set().union(*(levels for name, levels in actions().items() if fnmatchcase(row, name)))
    assert ACTIONS[row]
    assert ACTIONS[row] <= logged


def test_observability_tables_contain_every_metric_of_the_code() -> None:
    assert sorted(metrics() - METRICS) == sorted(LOGGED_ONLY)


def test_observability_tables_contain_only_metrics_of_the_code() -> None:
    assert sorted(METRICS - texts()) == []


def test_observability_tables_contain_only_units_of_reports() -> None:
    sentence = PAGE.partition("Units are `Count`, except for ")[2].partition(".")[0]
    exceptions = re.findall(r"`(\w+)`\s\(`(\w+)`\)", sentence)
    assert {unit for _, unit in exceptions} == {"Seconds", "Milliseconds"}
    assert {name for name, _ in exceptions} <= METRICS


def test_observability_tables_name_all_metrics_that_are_emitted_when_zero() -> None:
    _, _, section = PAGE.partition("written even when zero:")
    assert METRICS >= EVEN_WHEN_ZERO
    named = set(re.findall(r"`(\w+)`", section.partition("\n\n")[0]))
    assert named == EVEN_WHEN_ZERO


def test_observability_tables_names_have_a_consistent_form() -> None:
    assert [row for row in ACTIONS if re.fullmatch(r"[a-z]+(_[a-z]+)*", row) is None] == []
    assert [row for row in METRICS if re.fullmatch(r"([A-Z][a-z]+)+", row) is None] == []
