"""Which region of a stage with a standby works, and what a failover writes."""

import pytest

from duecourse.checks.standby import (
    FENCE_SECONDS,
    HANDOVER_SECONDS,
    STOPPED_SECONDS,
    Fence,
    InPlace,
    Lost,
    Move,
    Stop,
    Stopped,
    Unread,
    Works,
    planned,
    standing,
)
from duecourse.limits import DISPATCH_SECONDS

HOME, OTHER, NOW = "eu-west-1", "eu-central-1", 1_000.0
AT_HOME = Fence(HOME, 3, 500.0)


def test_standby_region_that_the_fence_names_works() -> None:
    assert standing(AT_HOME, HOME, NOW) == Works(3)


def test_standby_other_region_stops_and_looks_again_later() -> None:
    stopped = standing(AT_HOME, OTHER, NOW)
    assert isinstance(stopped, Stopped)
    assert (stopped.reason, stopped.seconds, stopped.alarming) == (Stop.OTHER_REGION, STOPPED_SECONDS, False)
    assert HOME in stopped.detail


def test_standby_new_region_waits_until_the_old_one_has_stopped() -> None:
    fence = Fence(HOME, 4, NOW + 20)
    stopped = standing(fence, HOME, NOW)
    assert isinstance(stopped, Stopped)
    assert (stopped.reason, stopped.seconds, stopped.alarming) == (Stop.HANDOVER, 20, False)
    assert standing(fence, HOME, NOW + 20) == Works(4)


@pytest.mark.parametrize(("fence", "reason"), [(None, Stop.NO_FENCE), (Unread("ClientError: throttled"), Stop.UNREAD)])
def test_standby_without_a_readable_fence_nothing_works(fence: Unread | None, reason: Stop) -> None:
    for region in (HOME, OTHER):
        stopped = standing(fence, region, NOW)
        assert isinstance(stopped, Stopped)
        assert (stopped.reason, stopped.alarming, stopped.seconds) == (reason, True, None)


def test_standby_handover_is_longer_than_a_cached_fence_and_a_dispatch_round() -> None:
    assert FENCE_SECONDS + DISPATCH_SECONDS < HANDOVER_SECONDS


def test_standby_failover_writes_the_next_epoch_first_in_the_region_that_stops() -> None:
    move = planned(OTHER, AT_HOME, HOME, AT_HOME, NOW)
    assert isinstance(move, Move)
    assert move.fence == Fence(OTHER, 4, NOW + HANDOVER_SECONDS)
    assert move.regions == (HOME, OTHER)


def test_standby_failover_without_the_lost_region_writes_only_the_target() -> None:
    move = planned(OTHER, AT_HOME, HOME, Lost(), NOW)
    assert isinstance(move, Move)
    assert (move.fence.epoch, move.regions) == (4, (OTHER,))


def test_standby_first_fence_needs_no_handover() -> None:
    move = planned(HOME, None, OTHER, None, NOW)
    assert isinstance(move, Move)
    assert (move.fence, move.regions) == (Fence(HOME, 1, NOW), (OTHER, HOME))


def test_standby_first_fence_of_a_region_alone_needs_a_handover() -> None:
    move = planned(OTHER, None, HOME, Lost(), NOW)
    assert isinstance(move, Move)
    assert (move.fence, move.regions) == (Fence(OTHER, 1, NOW + HANDOVER_SECONDS), (OTHER,))


def test_standby_failover_to_the_working_region_changes_nothing() -> None:
    assert planned(HOME, AT_HOME, OTHER, AT_HOME, NOW) == InPlace(AT_HOME)
    assert planned(HOME, AT_HOME, OTHER, Lost(), NOW) == InPlace(AT_HOME)


def test_standby_interrupted_failover_is_completed_with_the_same_fence() -> None:
    written = Fence(OTHER, 4, NOW - 5)
    move = planned(OTHER, AT_HOME, HOME, written, NOW)
    assert isinstance(move, Move)
    assert (move.fence, move.regions) == (written, (OTHER,))


def test_standby_interrupted_failover_can_be_turned_back() -> None:
    written = Fence(OTHER, 4, NOW - 5)
    move = planned(HOME, written, OTHER, AT_HOME, NOW)
    assert isinstance(move, Move)
    assert (move.fence, move.regions) == (Fence(HOME, 5, NOW + HANDOVER_SECONDS), (OTHER, HOME))


def test_standby_two_fences_of_one_epoch_are_replaced_by_the_next_epoch() -> None:
    move = planned(HOME, Fence(HOME, 4, 1.0), OTHER, Fence(OTHER, 4, 2.0), NOW)
    assert isinstance(move, Move)
    assert (move.fence.region, move.fence.epoch, move.regions) == (HOME, 5, (OTHER, HOME))
