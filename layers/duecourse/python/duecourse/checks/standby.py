"""A stage in two regions: which of them works. The fence, an item of the replicated jobs table, names it.

`standing` decides whether a region works, and `planned` what a failover writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias, assert_never

FENCE_KEY: Mapping[str, Any] = {"PK": {"S": "FENCE"}, "SK": {"S": "REGION"}}
"""The key of the fence in the jobs table."""

FENCE_SECONDS = 30
"""The seconds for which a process uses a fence before it reads it again. A fence that says "stop" is read again too."""

HANDOVER_SECONDS = 120
"""The seconds between a change of the fence and the start of the work in the new region. They cover FENCE_SECONDS and
the longest dispatch round (limits.DISPATCH_SECONDS); the rest is for different clocks and slow writes.
"""

STOPPED_SECONDS = 900
"""The seconds for which a worker of a stopped region hides its messages."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The region that works from `works_from` (UTC seconds) on. Each failover increases the epoch by one."""

    region: str
    epoch: int
    works_from: float

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Fence:
        """Return the fence in an item. Raises KeyError and ValueError for an item that is not a fence."""
        return cls(item["region"]["S"], int(item["epoch"]["N"]), float(item["works_from"]["N"]))

    def item(self) -> dict[str, Any]:
        """Return the item with the fence."""
        numbers = {"epoch": {"N": repr(self.epoch)}, "works_from": {"N": repr(self.works_from)}}
        return {**FENCE_KEY, "region": {"S": self.region}, **numbers}


@dataclass(frozen=True, slots=True)
class Unread:
    """The fence could not be read."""

    error: str


class Stop(StrEnum):
    """Why a region does not work."""

    OTHER_REGION = "other_region"
    HANDOVER = "handover"
    NO_FENCE = "no_fence"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Works:
    """The region works."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The region does not work. `detail` is a sentence for people. `seconds`: when to look again; None if a person
    must act first.
    """

    reason: Stop
    detail: str
    seconds: float | None = None

    @property
    def alarming(self) -> bool:
        """Whether the stage may be down: no region is known to work."""
        match self.reason:
            case Stop.OTHER_REGION | Stop.HANDOVER:
                return False
            case Stop.NO_FENCE | Stop.UNREAD:
                return True
            case other:
                assert_never(other)


def standing(fence: Fence | Unread | None, region: str, now: float) -> Works | Stopped:
    """Return whether this region works now. `fence` is None if there is none.

    Without a readable fence nothing works: work that starts late can be repaired, work that ran twice cannot.
    """
    match fence:
        case None:
            return Stopped(Stop.NO_FENCE, "there is no fence; run duecourse failover --to REGION")
        case Unread(error):
            return Stopped(Stop.UNREAD, f"the fence could not be read: {error}")
        case Fence(named, epoch, works_from) if named != region:
            detail = f"{named} works since epoch {epoch}, and this region is its standby"
            return Stopped(Stop.OTHER_REGION, detail, STOPPED_SECONDS)
        case Fence(_, epoch, works_from) if now < works_from:
            left = works_from - now
            return Stopped(Stop.HANDOVER, f"epoch {epoch} begins in {left:.0f} s", min(left, STOPPED_SECONDS))
        case Fence(_, epoch, _):
            return Works(epoch)
        case other:
            assert_never(other)


@dataclass(frozen=True, slots=True)
class Lost:
    """A region that the operator has declared lost: it is neither read nor written."""


Copy: TypeAlias = Fence | Lost | None
"""The fence as a region has it; None if the region has none."""


@dataclass(frozen=True, slots=True)
class Move:
    """Write `fence` in the given regions, in this order: the region that stops comes first."""

    fence: Fence
    regions: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class InPlace:
    """Every region that can be reached has this fence, and it names the target."""

    fence: Fence


def planned(target: str, own: Fence | None, other: str, theirs: Copy, now: float) -> Move | InPlace:
    """Return what a failover to `target` writes. `own` is the fence that the target has, `theirs` that of `other`.

    The newest fence has the highest epoch. A fence that was written in only one region, because a failover did not
    finish, is completed and not moved again.
    """
    copies = {other: theirs, target: own}
    reached = {region: copy for region, copy in copies.items() if not isinstance(copy, Lost)}
    known = [copy for copy in reached.values() if isinstance(copy, Fence)]
    if not known:
        works_from = now + HANDOVER_SECONDS if isinstance(theirs, Lost) else now  # a lost region may have a fence
        return Move(Fence(target, 1, works_from), tuple(reached), "there is no fence yet")
    epoch = max(fence.epoch for fence in known)
    newest = {fence for fence in known if fence.epoch == epoch}
    if len(newest) == 1:
        (fence,) = newest
        if fence.region == target:
            behind = tuple(region for region, copy in reached.items() if copy != fence)
            if not behind:
                return InPlace(fence)
            return Move(fence, behind, f"epoch {epoch} is not in every region yet")
        why = f"{fence.region} works since epoch {epoch}"
    else:
        why = f"the regions have different fences of epoch {epoch}"
    return Move(Fence(target, epoch + 1, now + HANDOVER_SECONDS), tuple(reached), why)
