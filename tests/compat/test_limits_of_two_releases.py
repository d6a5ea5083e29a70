"""Old and new functions work side by side on the same tables and lanes, as during an upgrade, and keep every limit."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from duecourse.domain.runs.states import Dead, RunState, Succeeded
from tests.support import emulators
from tests.support.jobs import NOON
from tests.support.record_release import fresh_tables
from tests.support.release.hand_over import endings, take_over
from tests.support.release.scene import PAUSE_SECONDS, play_limits
from tests.support.release_code import RELEASES, ask, releases
from tests.support.tables import Tables
from tests.support.world import World

ARCHIVE = RELEASES / releases()[-1] / "code.zip"

JOBS = ("shares", "shares-too", "queues", "is-rated", "asks-for-a-pause", "is-rated-and-shares")

TURNS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (1, ("shares", "shares-too", "queues", "is-rated", "is-rated")),
    (1, ("shares", "shares-too", "queues", "is-rated", "is-rated-and-shares")),
    (6, ("shares", "queues", "is-rated-and-shares")),
    (9, ("shares-too", "asks-for-a-pause")),
    (4, ("is-rated", "shares")),
    (3, ("is-rated", "queues")),
    (16, ("shares-too", "shares", "asks-for-a-pause")),
    (5, ("is-rated-and-shares", "is-rated")),
    (7, ()),
    (30, ()),
    (11, ()),
    (600, ()),
    (600, ()),
)
"""For how long each release works in turn (seconds), and which jobs are run at the beginning of its turn."""

INTERVAL, BURST = 5.0, 2
"""The rate of the scene's jobs."""


@pytest.mark.parametrize("first", ["old", "new"])
def test_compatibility_alternating_releases_keep_limits_and_rates_and_forget_no_run(ministack: str, first: str) -> None:
    endpoint, jobs, runs = fresh_tables(ministack)
    tables = Tables(emulators.client("dynamodb", ministack), jobs, runs)
    play_limits(World(tables))
    lanes: dict[str, Any] = {"messages": [], "dead_letters": []}
    calls: list[tuple[str, int, float, str]] = []
    asked: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    begin = NOON
    for turn, (seconds, requested) in enumerate(TURNS):
        end, release = begin + seconds, ("old", "new")[(turn + (first == "new")) % 2]
        if release == "old":
            span: dict[str, Any] = {"begin": begin, "end": end, "runs": requested}
            told = ask(ARCHIVE, "take over", tables=[endpoint, jobs, runs], lanes=lanes, **span)
            lanes, made, ended = told["lanes"], told["calls"], told["endings"]
        else:
            world = World(tables, at=begin)
            lanes = take_over(world, lanes, begin=begin, end=end, runs=requested)
            made, ended = world.caller.calls, endings(world)
        calls += [(*call, release) for call in made]
        asked.update(requested)
        wrong.update(ended["wrong"])
        begin = end
    found = {str(run.name): run for job_id in JOBS for run in World(tables, at=begin).runs(job_id)}
    assert Counter(run.job_id for run in found.values()) == asked, "no run is forgotten"
    assert {run.state for run in found.values()} == {RunState.SUCCEEDED, RunState.DEAD}  # no callback comes
    assert wrong == {}
    over = {name: run.finished_at for name, run in found.items() if isinstance(run, Succeeded | Dead)}
    _hold_limit([call for call in calls if call[0].startswith("shares")], over, 2)
    _hold_limit([call for call in calls if call[0].startswith("queues")], over, 1)
    rated = [call for call in calls if found[call[0]].job_id in {"is-rated", "asks-for-a-pause", "is-rated-and-shares"}]
    _hold_rate([at for _, _, at, _ in rated])
    for name, _, asked_at, _ in [call for call in rated if call[:2] == (call[0], 1) and call[0].startswith("asks")]:
        early = [at for _, _, at, _ in rated if asked_at < at < asked_at + PAUSE_SECONDS]
        assert not early, f"{name} asked for a pause"
    for kind in ("shares", "queues", "is-rated"):
        assert {release for name, _, _, release in calls if name.startswith(kind)} == {"old", "new"}, kind
    left = [
        item for item in tables.client.scan(TableName=runs)["Items"] if item["SK"]["S"].startswith(("QUEUE#", "WATCH"))
    ]
    assert not left, "no run waits at the end"


def _hold_limit(calls: list[tuple[str, int, float, str]], over: dict[str, float], limit: int) -> None:
    """Each run has one attempt, and is active from its call to its end."""
    assert len({name for name, *_ in calls}) == len(calls)
    for _, _, at, _ in calls:
        active = sorted(name for name, _, begin, _ in calls if begin <= at < over[name])
        assert len(active) <= limit, f"at {at - NOON}: {active}"
    begins = sorted(at for _, _, at, _ in calls)
    assert max(after - before for before, after in pairwise(begins)) < 60, "a watch finds lost calls"


def _hold_rate(calls: list[float]) -> None:
    calls.sort()
    for number, begin in enumerate(calls):
        for count, end in enumerate(calls[number:], 1):
            assert count <= BURST + (end - begin) / INTERVAL
