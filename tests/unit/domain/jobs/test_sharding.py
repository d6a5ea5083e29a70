"""Shards are stable for ever, slots sort as time does."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.instants import from_iso
from duecourse.domain.jobs.cursor import bucket_of, bucket_start, buckets, shard_of, slot_of
from duecourse.limits import MAX_SHARDS

INSTANTS = st.integers(0, 32_503_680_000)  # up to the year 3000


def at(text: str) -> int:
    return int(from_iso(text))


@pytest.mark.parametrize(
    ("tenant", "job_id", "shards", "shard"),
    [
        ("default", "nightly", 16, 13),
        ("default", "nightly", 9999, 860),
        ("default", "tick-tock", 16, 13),
        ("acme", "nightly", 16, 15),
        ("default", "a", 2, 0),
        ("default", "Z" * 64, 256, 3),
    ],
)
def test_a_jobs_shard_is_the_same_in_every_version(tenant: str, job_id: str, shards: int, shard: int) -> None:
    # As b2sum -l 64 has it. A change loses a live system's jobs: their cursors stand in the slots of their old shards.
    assert shard_of(tenant, job_id, shards) == shard


@given(st.text(max_size=64), st.text(max_size=64), st.integers(1, MAX_SHARDS))
def test_every_job_has_a_shard(tenant: str, job_id: str, shards: int) -> None:
    try:
        assert 0 <= shard_of(tenant, job_id, shards) < shards
    except UnicodeEncodeError:  # a lone surrogate is in no id
        assert not f"{tenant}{job_id}".isascii()


def test_a_single_shard_has_every_job() -> None:
    assert {shard_of("default", f"job-{number}", 1) for number in range(100)} == {0}


@pytest.mark.parametrize("name", ["job-{}", "report-{:06}", "{}"])
def test_jobs_spread_evenly_over_sixteen_shards(name: str) -> None:
    count = Counter(shard_of("default", name.format(number), 16) for number in range(16_000))
    assert len(count) == 16
    assert max(abs(held - 1000) for held in count.values()) < 150  # about five standard deviations


def test_the_same_id_of_many_tenants_spreads_too() -> None:
    count = Counter(shard_of(f"tenant-{number}", "nightly", 16) for number in range(16_000))
    assert max(abs(held - 1000) for held in count.values()) < 150


def test_a_bucket_is_the_hour() -> None:
    assert bucket_of(at("2026-11-21T06:00:00Z")) == "2026-11-21T06"
    assert bucket_of(at("2026-11-21T06:59:59Z") + 0.999) == "2026-11-21T06"
    assert bucket_of(at("2026-11-21T07:00:00Z")) == "2026-11-21T07"


def test_a_slot_names_hour_and_shard() -> None:
    assert slot_of(at("2026-11-21T06:47:00Z"), 7) == "2026-11-21T06/0007"
    assert slot_of(at("2026-11-21T06:47:00Z"), MAX_SHARDS - 1) == "2026-11-21T06/9998"


@given(INSTANTS)
def test_an_instant_lies_in_the_hour_that_its_bucket_begins(instant: int) -> None:
    begin = bucket_start(bucket_of(instant))
    assert begin <= instant < begin + 3600


@given(INSTANTS, INSTANTS)
def test_buckets_sort_as_time_does(one: int, other: int) -> None:
    assert (bucket_of(one) <= bucket_of(other)) == (one // 3600 <= other // 3600)


def test_the_buckets_of_a_round_go_on_over_midnight_and_new_year() -> None:
    assert list(buckets("2026-12-31T22", at("2027-01-01T01:00:00Z"))) == [
        "2026-12-31T22",
        "2026-12-31T23",
        "2027-01-01T00",
        "2027-01-01T01",
    ]


def test_a_leap_day_is_not_left_out() -> None:
    assert "2028-02-29T00" in list(buckets("2028-02-28T23", at("2028-03-01T00:00:00Z")))


def test_the_last_bucket_is_the_one_the_end_falls_into_from_its_first_instant_on() -> None:
    assert list(buckets("2026-11-21T06", at("2026-11-21T07:00:00Z") - 0.001)) == ["2026-11-21T06"]
    assert list(buckets("2026-11-21T06", at("2026-11-21T07:00:00Z"))) == ["2026-11-21T06", "2026-11-21T07"]


def test_an_end_before_the_first_bucket_leaves_none() -> None:
    assert list(buckets("2026-11-21T06", at("2026-11-21T05:59:59Z"))) == []


@given(INSTANTS, st.integers(0, 200 * 3600))
def test_no_hour_is_left_out_and_none_comes_twice(first: int, ahead: int) -> None:
    found = list(buckets(bucket_of(first), first + ahead))
    assert (found[0], found[-1]) == (bucket_of(first), bucket_of(first + ahead))
    assert all(bucket_start(later) - bucket_start(earlier) == 3600 for earlier, later in pairwise(found))
