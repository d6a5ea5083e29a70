"""Bodies are read as strictly as I-JSON has it; what is refused is refused with 400, or as a fault with its place."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.api.bodies.models import MAX_DEPTH, read_json, unfit, write_json
from duecourse.api.problems import Problem


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "line 1, column 1"),
        (b"{", "line 1, column 2"),
        (b'{"a": 1,}', "is not JSON"),
        (b"\xff\xfe{}", "not UTF-8 (byte 0)"),
        (b"\xef\xbb\xbf{}", "is not JSON"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b'{"a": 1, "a": 2}', 'names "a" twice'),
        (b"[" * 50_000, "nested too deeply"),
        (b"[" * 50_000 + b"]" * 50_000, "nested too deeply"),
        (b"9" * 5_000, "5000 digits"),
        (b"[1] x", "is not JSON"),
        (b'"a\nb"', "is not JSON"),
    ],
)
def test_what_is_no_json_is_a_400_that_says_where(raw: bytes, said: str) -> None:
    with pytest.raises(Problem) as refused:
        read_json(raw)
    assert refused.value.status == 400
    assert said in refused.value.detail


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'{"a": "\ud800"}', "/a"),
        (r'{"a": [1, "x\udfff"]}', "/a/1"),
        (r'{"a": {"\ud800": 1}}', "/a"),
        ('{"a": 18446744073709551616}', "/a"),
        ('{"a": -9223372036854775809}', "/a"),
        ('{"a/b~c": 1e999}', "/a~1b~0c"),
        # How many levels the parser itself refuses depends on the version of Python.
        ('{"a":' * 500 + "1" + "}" * 500, "/a" * (MAX_DEPTH + 1)),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "/0" * (MAX_DEPTH + 1)),
    ],
)
def test_what_nobody_could_hand_on_is_a_fault_with_its_place(text: str, place: str) -> None:
    faults = list(unfit(read_json(text.encode())))
    assert [fault.pointer for fault in faults] == [place]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 18446744073709551615, "b": -9223372036854775808}',
        r'"\ud83d\ude00 and \u0000"',
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "1e308",
        "true",
    ],
)
def test_what_can_be_kept_has_no_fault(text: str) -> None:
    assert list(unfit(read_json(text.encode()))) == []


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read_json(rb'"\ud83d\ude00"') == "\N{GRINNING FACE}"


def test_what_is_written_is_plain_ascii_even_for_half_a_pair() -> None:
    assert write_json({"a": "\ud800ä"}) == r'{"a":"\ud800\u00e4"}'


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with suppress(Problem):
        list(unfit(read_json(raw)))


numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(values)
def test_json_comes_through_unchanged(value: object) -> None:
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value
