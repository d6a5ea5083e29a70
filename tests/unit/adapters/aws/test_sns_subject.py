"""Subjects that SNS takes."""

from __future__ import annotations

import pytest

from duecourse.adapters.aws.sns import SUBJECT_CHARACTERS, subject


@pytest.mark.parametrize("text", ["Report 2026-W47", "Übersicht 日報", "x" * SUBJECT_CHARACTERS])
def test_what_fits_on_its_line_stays_as_it_is(text):
    assert subject(text) == text


@pytest.mark.parametrize("character", ["\n", "\r\n", "\t", "\x00", "\x07", "\x7f", "\x85", "\u2028", "  "])
def test_line_breaks_and_control_characters_become_one_space(character):
    assert subject(f"{character}a{character}{character}b{character}") == "a b"


@pytest.mark.parametrize("text", ["x" * 100, "ü" * 5_000, "a b " * 30])
def test_what_is_longer_ends_in_dots_and_has_fewer_than_a_hundred_characters(text):
    cut = subject(text)
    assert len(cut) == 99
    assert cut == f"{text[:96]}..."


def test_the_room_is_measured_after_the_spaces_are_gone():
    assert subject("\n" * 50 + "x" * 60) == "x" * 60
