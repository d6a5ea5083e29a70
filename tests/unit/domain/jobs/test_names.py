"""Names of runs and instants: one spelling each, there and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.ids import ID_PATTERN, RunName, is_id, parse_run_id
from duecourse.domain.instants import FIRST, LAST, from_basic, from_iso, to_basic, to_iso

SECONDS = st.integers(FIRST, LAST)
IDS = st.from_regex(ID_PATTERN, fullmatch=True)
SUFFIXES = st.just("") | st.from_regex(r"\.[mb][A-Za-z0-9_-]{1,32}", fullmatch=True)
MOMENTS = st.floats(0, 4e9)


@given(IDS, SECONDS, SUFFIXES)
def test_a_run_id_names_exactly_one_job_occurrence_and_suffix(job_id: str, occurrence: int, suffix: str) -> None:
    name = RunName(job_id, occurrence, suffix)
    assert parse_run_id(str(name)) == name


def test_a_run_id_reads_as_the_design_says() -> None:
    assert str(RunName("nightly", 1_795_243_620)) == "nightly.20261121T064700Z"
    assert str(RunName("nightly", 1_795_243_620, ".mabc")) == "nightly.20261121T064700Z.mabc"
    assert RunName("nightly", 1_795_243_620, ".b1").local == "20261121T064700Z.b1"


@given(SECONDS, SECONDS)
def test_runs_of_a_job_sort_by_their_occurrence(one: int, other: int) -> None:
    assert (RunName("a", one).local < RunName("a", other).local) == (one < other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nightly",
        "20261121T064700Z",
        ".20261121T064700Z",
        "nightly.20261121T064700",
        "nightly.20261121T064700Z ",
        "nightly.20261121T064700Z\n",
        "nightly.20261121064700Z",
        "nightly.2026-11-21T06:47:00Z",
        "nightly.20261321T064700Z",
        "nightly.20260230T064700Z",
        "nightly.20261121T240000Z",
        "nightly.20261121T064760Z",
        "nightly.00001121T064700Z",
        "nightly.2026112١T064700Z",
        "nightly.20261121T064700Z.",
        "nightly.20261121T064700Z.m",
        "nightly.20261121T064700Z.x1",
        "nightly.20261121T064700Z.m1.b2",
        f"nightly.20261121T064700Z.m{'1' * 33}",
        "night ly.20261121T064700Z",
        f"{'n' * 65}.20261121T064700Z",
        "acme#nightly.20261121T064700Z",
    ],
)
def test_what_is_no_run_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"run id|month|day|hour|second|year|time data|unconverted"):
        parse_run_id(text)


@pytest.mark.parametrize("text", ["a", "Z", "_", "-", "0", "nightly-report_2", "n" * 64])
def test_letters_digits_underscores_and_hyphens_make_an_id(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["", " ", "a b", "a.b", "a#b", "a/b", "é", "١", "a\n", "\na", "n" * 65])
def test_whatever_a_key_a_run_id_or_a_path_could_not_hold_is_no_id(text: str) -> None:
    assert not is_id(text)


# Instants.


def test_an_instant_reads_as_the_design_says() -> None:
    assert to_iso(1_795_243_620) == "2026-11-21T06:47:00Z"
    assert to_iso(1_795_243_620.25) == "2026-11-21T06:47:00.250Z"
    assert to_basic(1_795_243_620) == "20261121T064700Z"


@given(SECONDS)
def test_a_whole_second_comes_back_from_either_form(seconds: int) -> None:
    assert from_basic(to_basic(seconds)) == seconds
    assert from_iso(to_iso(seconds)) == seconds
    assert "." not in to_iso(seconds)


@given(MOMENTS)
def test_a_fraction_is_kept_to_the_millisecond_and_never_runs_ahead(moment: float) -> None:
    kept = from_iso(to_iso(moment))
    assert -0.001 < kept - moment <= 1e-6  # a microsecond: what datetime rounds


@given(MOMENTS)
def test_an_instant_that_was_written_is_written_the_same_again(moment: float) -> None:
    written = to_iso(moment)
    assert to_iso(from_iso(written)) == written
    assert not written.endswith(".000Z")


@given(SECONDS, SECONDS)
def test_the_basic_form_sorts_as_time_does(one: int, other: int) -> None:
    assert (to_basic(one) < to_basic(other)) == (one < other)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T06:47:00Z",
        "20261121T064700",
        "20261121T064700Z ",
        "2026121T064700Z",
        "20261121T64700Z",
        "2026112١T064700Z",
        "20260230T000000Z",
        "20261121T064761Z",
        "",
    ],
)
def test_what_is_no_basic_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"instant|time data|day|second|unconverted"):
        from_basic(text)


def test_an_instant_may_name_any_zone_but_must_name_one() -> None:
    assert from_iso("2026-11-21T07:47:00+01:00") == from_iso("2026-11-21T06:47:00Z") == 1_795_243_620
    with pytest.raises(ValueError, match="has no zone"):
        from_iso("2026-11-21T06:47:00")
    with pytest.raises(ValueError, match="has no zone"):
        from_iso("2026-11-21")


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00:00Z", "1795243620"])
def test_what_is_no_instant_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match=r"Invalid|month|isoformat|has no zone"):
        from_iso(text)
