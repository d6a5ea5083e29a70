"""Scenes are handed from one release to another: what lies in tables and lanes, and how everything ends."""

import json
from collections.abc import Sequence
from heapq import heapify
from itertools import count
from typing import Any

from tests.support.release.meanings import meanings
from tests.support.release.scene import MOMENT, answer, run_now
from tests.support.wheel import Held
from tests.support.world import World

LATER = 2 * 3600 + 600.0
"""How long it is carried on for: past every wait of the scene."""


def carry_on(world: World, scene: dict[str, Any]) -> dict[str, Any]:
    """Take a scene over as a deployment does, let `LATER` pass, and tell how everything ended."""
    client = world.tables.client
    for table, name in (("jobs", world.tables.jobs), ("runs", world.tables.runs)):
        for item in scene[table]:
            client.put_item(TableName=name, Item=item)
    take_over(world, scene, begin=MOMENT, end=MOMENT + LATER)
    return endings(world)


def take_over(
    world: World, lanes: dict[str, Any], *, begin: float, end: float, runs: Sequence[str] = ()
) -> dict[str, Any]:
    """Work for a while on the messages of another release's lanes, and hand them on. First, these jobs are run."""
    world.clock.set(begin)
    world.caller.answer = answer
    world.randomness.count = int(begin) * 1000  # nonces and messages are never called the same twice
    world.wheel._serial = count(int(begin) * 1000)
    for held in lanes["messages"]:
        world.wheel._held.append(Held(MOMENT + held["visible"], held["serial"], held["body"], held["receives"]))
    for held in lanes["dead_letters"]:
        world.wheel.dead_letters.append(Held(MOMENT, held["serial"], held["body"], held["receives"]))
    heapify(world.wheel._held)
    for job_id in runs:
        run_now(world, job_id)
    world.until(end)
    return _lanes(world)


def endings(world: World) -> dict[str, Any]:
    """How every run and job stands, who was called how often, and what went wrong."""
    wrong = ("MessagesFailed", "MessagesUnreadable", "CursorsQuarantined", "RoundsFailed", "ClaimsDeferred")
    jobs, runs = _items(world, world.tables.jobs), _items(world, world.tables.runs)
    calls: dict[str, int] = {}
    for run in world.caller.runs:
        calls[run] = calls.get(run, 0) + 1
    return {
        "runs": {
            f"{item['PK']['S']}/{item['SK']['S']}": [
                item["state"]["S"],
                item.get("reason", {}).get("S"),
                int(item["attempt"]["N"]),
            ]
            for item in runs
            if item["SK"]["S"].startswith("RUN#")
        },
        "jobs": {item["PK"]["S"]: item["state"]["S"] for item in jobs if item["SK"]["S"] == "JOB"},
        "wakes": sorted(item["SK"]["S"] for item in jobs if item["SK"]["S"].startswith("WAKE#") and "slot" in item),
        "calls": calls,
        "dead_letters": sorted(_named(held) for held in world.wheel.dead_letters),
        "wrong": {name: n for name in wrong if (n := world.count(name))},
    }


def snapshot(world: World) -> dict[str, Any]:
    """Tables and lanes as they are, with what the items mean to this code."""
    jobs, runs = _items(world, world.tables.jobs), _items(world, world.tables.runs)
    return {
        "jobs": jobs,
        "runs": runs,
        **_lanes(world),
        "shard_queue": _shard_messages(),
        "meanings": meanings(jobs, runs),
    }


def _items(world: World, table: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        page = world.tables.client.scan(TableName=table, ConsistentRead=True, **start)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _lanes(world: World) -> dict[str, Any]:
    """What is in the lanes and among the dead letters."""
    return {
        "messages": [_held(held) for held in sorted(world.wheel._held)],
        "dead_letters": [_held(held) for held in world.wheel.dead_letters],
    }


def _held(held: Held) -> dict[str, Any]:
    visible = round(held.visible - MOMENT, 6)
    return {"visible": visible, "serial": held.serial, "receives": held.receives, "body": held.body}


def _named(held: Held) -> str:
    """What a message is about, be it of a kind that this release cannot read."""
    said = json.loads(held.body)
    return f"{said['job_id']} {said['occurrence']} {said.get('kind', 'start')}"


def _shard_messages() -> list[str]:
    """What the tick sends, as the code of this release writes it."""
    from duecourse.adapters.sqs.shard_queue import SqsShardQueue

    sent: list[str] = []

    class Client:
        def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            sent.extend(entry["MessageBody"] for entry in Entries)
            return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    SqsShardQueue(Client(), "queue").send([0, 7], int(MOMENT) // 60)
    return sent
