"""Whoever sets up the watch of a line may die or get no answer: the watch that is noted has its message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from duecourse.domain.jobs.job import Completion, Overlap
from tests.support.client_faults import Fault, FaultyClient, Request
from tests.support.jobs import NOON, job
from tests.support.one_run import hand_over, receive
from tests.support.tables import Tables
from tests.support.world import Killed, World


@pytest.mark.parametrize("fault", Fault)
def test_a_watch_that_is_noted_has_a_message_whatever_becomes_of_the_note(tables: Tables, fault: Fault) -> None:
    client = FaultyClient(tables.client)
    world = World(replace(tables, client=client))
    world.add(job("* * * * *", max_runs=2, overlap=Overlap.QUEUE, completion=Completion.CALLBACK))
    world.until(NOON + 119)
    met: list[Request] = []

    def once(request: Request) -> Fault | None:
        hit = request.asked.get("Item", {}).get("SK", {}).get("S") == "WATCH" and not met
        met.extend([request] * hit)
        return fault if hit else None

    client.fault_of = once
    world.clock.set(NOON + 120)
    held = receive(world)
    try:
        left = hand_over(world, held)
    except Killed:
        left = ("its worker died",)
    if left:
        world.wheel.put_back(held)
    world.until(NOON + 300)
    noted = world.lines.watch("default", "tick-tock")
    assert met
    assert noted is not None
    assert noted.nonce in [each.message.watch for each in world.wheel._held]
