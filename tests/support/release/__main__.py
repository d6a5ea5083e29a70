"""What another release's code is asked to do, as JSON on standard input; the answer as JSON on standard output."""

import json
import sys
from typing import Any

from tests.support import in_process
from tests.support.emulators import client
from tests.support.jobs import NOON
from tests.support.release.hand_over import carry_on, endings, snapshot, take_over
from tests.support.release.meanings import meanings
from tests.support.release.scene import MOMENT, play
from tests.support.tables import Tables
from tests.support.world import World


def world_at(endpoint: str, jobs: str, runs: str) -> World:
    """A world over tables that are there already."""
    return World(Tables(client("dynamodb", endpoint), jobs, runs), at=NOON)


def world_of(definitions: dict[str, dict[str, Any]]) -> World:
    """A world over tables of its own, within this process."""
    client = in_process.dynamodb()
    for name, definition in definitions.items():
        client.create_table(TableName=name, **definition)
    return World(Tables(client, *definitions), at=MOMENT)


def keys_of(world: World, items: list[dict[str, Any]]) -> dict[str, Any]:
    """What a release makes of stored API keys: the job of each key, whether there is one, and whether it is revoked."""
    store, jobs = world.jobs.api_keys, world.tables.jobs
    for item in items:
        world.tables.client.put_item(TableName=jobs, Item=item)
    listed = store.all("default").items
    return {
        key.id: {
            "job": key.job_id,
            "known": world.jobs.get("default", key.job_id) is not None,
            "signed": key.salt is not None,
            "revoked": store.delete("default", key.id),
        }
        for key in listed
    }


def main() -> None:
    """Play a scene, carry one on, take lanes over for a while, or read items or API keys."""
    asked = json.load(sys.stdin)
    endpoint, jobs, runs = asked.get("tables", ("", "", ""))
    if asked["what"] == "play":
        world = world_at(endpoint, jobs, runs)
        play(world)
        told = snapshot(world)
    elif asked["what"] == "carry on":
        told = carry_on(world_of(asked["definitions"]), asked["scene"])
    elif asked["what"] == "take over":
        world = world_at(endpoint, jobs, runs)
        span = {name: asked[name] for name in ("begin", "end")}
        lanes = take_over(world, asked["lanes"], runs=asked.get("runs", ()), **span)
        told = {"lanes": lanes, "endings": endings(world), "calls": world.caller.calls}
    elif asked["what"] == "keys":
        told = keys_of(world_of(asked["definitions"]), asked["items"])
    else:
        told = meanings(asked["scene"]["jobs"], asked["scene"]["runs"])
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
