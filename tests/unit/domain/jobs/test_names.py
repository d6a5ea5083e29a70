"""Names, lanes, shards and overlap rules.

- Names of runs and instants: one spelling each, there and back.
- Where a job's runs are queued.
- Shards are stable for ever, slots sort as time does.
"""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duecourse.domain.ids import ID_PATTERN, RunName, from_basic, is_id, parse_run_id, to_basic
from duecourse.domain.instants import from_iso, to_iso
from duecourse.domain.jobs.cursor import bucket_of, bucket_start, buckets, shard_of, slot_of
from duecourse.domain.jobs.job import Delivery, Lane, RetryPolicy
from duecourse.limits import MAX_SHARDS
from duecourse_schedules.instant import FIRST, LAST
from tests.support.jobs import job

SECONDS = st.integers(FIRST, LAST)
IDS = st.from_regex(ID_PATTERN, fullmatch=True)
SUFFIXES = st.just("") | st.from_regex(r"\.[mb][A-Za-z0-9_-]{1,32}", fullmatch=True)
MOMENTS = st.floats(0, 4e9)


@given(IDS, SECONDS, SUFFIXES)
def test_names_and_shards_run_id_identifies_exactly_one_job_occurrence_and_suffix(
    job_id: str, occurrence: int, suffix: str
) -> None:
    name = RunName(job_id, occurrence, suffix)
    assert parse_run_id(str(name)) == name


def test_names_and_shards_run_id_has_the_documented_format() -> None:
    assert str(RunName("nightly", 1_795_243_620)) == "nightly.20261121T064700Z"
    assert str(RunName("nightly", 1_795_243_620, ".mabc")) == "nightly.20261121T064700Z.mabc"
    assert RunName("nightly", 1_795_243_620, ".b1").local == "20261121T064700Z.b1"


@given(SECONDS, SECONDS)
def test_names_and_shards_runs_of_a_job_sort_by_occurrence(one: int, other: int) -> None:
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
def test_names_and_shards_invalid_run_id_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"run id|month|day|hour|second|year|time data|unconverted"):
        parse_run_id(text)


@pytest.mark.parametrize("text", ["a", "Z", "_", "-", "0", "nightly-report_2", "n" * 64])
def test_names_and_shards_id_may_contain_letters_digits_underscores_and_hyphens(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["", " ", "a b", "a.b", "a#b", "a/b", "é", "١", "a\n", "\na", "n" * 65])
def test_names_and_shards_id_with_characters_unusable_in_keys_run_ids_or_paths_is_invalid(text: str) -> None:
    assert not is_id(text)


# Instants.


def test_names_and_shards_instant_has_the_documented_formats() -> None:
    assert to_iso(1_795_243_620) == "2026-11-21T06:47:00Z"
    assert to_iso(1_795_243_620.25) == "2026-11-21T06:47:00.250Z"
    assert to_basic(1_795_243_620) == "20261121T064700Z"


@given(SECONDS)
def test_names_and_shards_whole_second_is_parsed_back_from_both_formats(seconds: int) -> None:
    assert from_basic(to_basic(seconds)) == seconds
    assert from_iso(to_iso(seconds)) == seconds
    assert "." not in to_iso(seconds)


@given(MOMENTS)
def test_names_and_shards_fraction_is_kept_to_the_millisecond_and_not_rounded_up(moment: float) -> None:
    assert -0.001 < from_iso(to_iso(moment)) - moment <= 1e-6  # a microsecond: what datetime rounds


@given(MOMENTS)
def test_names_and_shards_formatting_a_parsed_instant_gives_the_same_text(moment: float) -> None:
    written = to_iso(moment)
    assert to_iso(from_iso(written)) == written
    assert not written.endswith(".000Z")


@given(SECONDS, SECONDS)
def test_names_and_shards_basic_format_sorts_chronologically(one: int, other: int) -> None:
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
def test_names_and_shards_invalid_basic_instant_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"instant|time data|day|second|unconverted"):
        from_basic(text)


def test_names_and_shards_instant_accepts_any_time_zone_but_requires_one() -> None:
    assert from_iso("2026-11-21T07:47:00+01:00") == from_iso("2026-11-21T06:47:00Z") == 1_795_243_620
    with pytest.raises(ValueError, match="has no time zone"):
        from_iso("2026-11-21T06:47:00")
    with pytest.raises(ValueError, match="has no time zone"):
        from_iso("2026-11-21")


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00:00Z", "1795243620"])
def test_names_and_shards_invalid_instant_is_rejected(text: Any) -> None:
    with pytest.raises(ValueError, match=r"Invalid|month|isoformat|has no time zone"):
        from_iso(text)


SHORT = [Lane.HIGH, Lane.NORMAL, Lane.LOW]


@pytest.mark.parametrize("priority", SHORT)
def test_names_and_shards_short_runs_use_the_lane_of_their_priority(priority: Lane) -> None:
    assert job(priority=priority, timeout_seconds=90, estimated_seconds=90).lane is priority
    assert job(priority=priority, timeout_seconds=1).lane is priority


@pytest.mark.parametrize("priority", SHORT)
@pytest.mark.parametrize(
    "times", [{"timeout_seconds": 91}, {"estimated_seconds": 91}, {"timeout_seconds": 600, "estimated_seconds": 5}]
)
def test_names_and_shards_runs_that_may_exceed_the_short_workers_use_the_long_lane_for_every_priority(
    priority: Lane, times: dict[str, int]
) -> None:
    assert job(priority=priority, **times).lane is Lane.LONG


def test_names_and_shards_run_has_the_attempts_of_its_policy_or_one() -> None:
    assert job(retry=RetryPolicy(max_attempts=7)).attempts_allowed == 7
    assert job(retry=RetryPolicy(max_attempts=7), delivery=Delivery.AT_MOST_ONCE).attempts_allowed == 1


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
def test_names_and_shards_shard_of_a_job_is_stable_across_versions(
    tenant: str, job_id: str, shards: int, shard: int
) -> None:
    # As b2sum -l 64 has it. A change loses a live system's jobs: their cursors stand in the slots of their old shards.
    assert shard_of(tenant, job_id, shards) == shard


@given(st.text(max_size=64), st.text(max_size=64), st.integers(1, MAX_SHARDS))
def test_names_and_shards_every_job_has_a_shard(tenant: str, job_id: str, shards: int) -> None:
    try:
        assert 0 <= shard_of(tenant, job_id, shards) < shards
    except UnicodeEncodeError:  # a lone surrogate is in no id
        assert not f"{tenant}{job_id}".isascii()


def test_names_and_shards_single_shard_contains_every_job() -> None:
    assert {shard_of("default", f"job-{number}", 1) for number in range(100)} == {0}


@pytest.mark.parametrize("name", ["job-{}", "report-{:06}", "{}"])
def test_names_and_shards_jobs_are_distributed_evenly_over_sixteen_shards(name: str) -> None:
    count = Counter(shard_of("default", name.format(number), 16) for number in range(16_000))
    assert len(count) == 16
    assert max(abs(held - 1000) for held in count.values()) < 150  # about five standard deviations


def test_names_and_shards_same_id_of_many_tenants_is_distributed_evenly() -> None:
    count = Counter(shard_of(f"tenant-{number}", "nightly", 16) for number in range(16_000))
    assert max(abs(held - 1000) for held in count.values()) < 150


def test_names_and_shards_bucket_is_the_hour() -> None:
    assert bucket_of(at("2026-11-21T06:00:00Z")) == "2026-11-21T06"
    assert bucket_of(at("2026-11-21T06:59:59Z") + 0.999) == "2026-11-21T06"
    assert bucket_of(at("2026-11-21T07:00:00Z")) == "2026-11-21T07"


def test_names_and_shards_slot_consists_of_hour_and_shard() -> None:
    assert slot_of(at("2026-11-21T06:47:00Z"), 7) == "2026-11-21T06/0007"
    assert slot_of(at("2026-11-21T06:47:00Z"), MAX_SHARDS - 1) == "2026-11-21T06/9998"


@given(INSTANTS)
def test_names_and_shards_instant_lies_within_the_hour_of_its_bucket(instant: int) -> None:
    begin = bucket_start(bucket_of(instant))
    assert begin <= instant < begin + 3600


@given(INSTANTS, INSTANTS)
def test_names_and_shards_buckets_sort_chronologically(one: int, other: int) -> None:
    assert (bucket_of(one) <= bucket_of(other)) == (one // 3600 <= other // 3600)


def test_names_and_shards_buckets_continue_over_midnight_and_new_year() -> None:
    assert list(buckets("2026-12-31T22", at("2027-01-01T01:00:00Z"))) == [
        "2026-12-31T22",
        "2026-12-31T23",
        "2027-01-01T00",
        "2027-01-01T01",
    ]


def test_names_and_shards_buckets_include_a_leap_day() -> None:
    assert "2028-02-29T00" in list(buckets("2028-02-28T23", at("2028-03-01T00:00:00Z")))


def test_names_and_shards_last_bucket_contains_the_end() -> None:
    assert list(buckets("2026-11-21T06", at("2026-11-21T07:00:00Z") - 0.001)) == ["2026-11-21T06"]
    assert list(buckets("2026-11-21T06", at("2026-11-21T07:00:00Z"))) == ["2026-11-21T06", "2026-11-21T07"]


def test_names_and_shards_end_before_the_first_bucket_gives_no_buckets() -> None:
    assert list(buckets("2026-11-21T06", at("2026-11-21T05:59:59Z"))) == []


@given(INSTANTS, st.integers(0, 200 * 3600))
def test_names_and_shards_buckets_contain_each_hour_exactly_once(first: int, ahead: int) -> None:
    found = list(buckets(bucket_of(first), first + ahead))
    assert (found[0], found[-1]) == (bucket_of(first), bucket_of(first + ahead))
    assert all(bucket_start(later) - bucket_start(earlier) == 3600 for earlier, later in pairwise(found))
