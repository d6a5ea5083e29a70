"""Old and new side by side: what earlier releases wrote is read, and carried to its end, by the code of now.

tests/fixtures/releases has a scene of each release, played and recorded by that release's own code (see
tests/support/record_release.py): its tables and lanes at one moment, what its items meant to it, and how everything
ended when it went on by itself.
"""

import json
from collections import Counter
from copy import deepcopy
from typing import Any, cast

import pytest

from duecourse.domain.ids import is_id
from duecourse.domain.runs.api_keys import ApiKey, key_text, no_job
from duecourse.domain.runs.states import RunState
from duecourse.messages import MessageKind, read_run_message
from duecourse.stores import cursor_item, job_item
from duecourse.testing.clock import SettableClock
from tests.support import emulators, in_process
from tests.support.jobs import NOON, cursor, job
from tests.support.record_release import PARTS, fresh_tables
from tests.support.release.hand_over import LATER, carry_on, endings, snapshot, take_over
from tests.support.release.meanings import meanings
from tests.support.release.scene import MOMENT, play
from tests.support.release_code import RELEASES, ask, releases
from tests.support.tables import Tables, create_tables
from tests.support.template import table_definitions
from tests.support.world import World

NAMES = releases()
NEWEST = NAMES[-1]


def scene_of(release: str) -> dict[str, Any]:
    """What was recorded of a release."""
    return {part: json.loads((RELEASES / release / f"{part}.json").read_text()) for part in PARTS}


def within(old: Any, new: Any) -> bool:
    """Whether all that the old reading has is in the new one; fields of now may come on top. What a run does not have
    is empty in an old reading, and not in the new one if no run in its state can have it.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return all(within(value, new[name]) if name in new else not value for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(within(*pair) for pair in zip(old, new, strict=True))
    return bool(old == new)


@pytest.fixture(params=NAMES)
def scene(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each release's scene in turn."""
    return scene_of(request.param)


def test_compatibility_stored_items_keep_the_meaning_that_their_release_recorded(scene: dict[str, Any]) -> None:
    now = meanings(scene["jobs"], scene["runs"])
    differing = {
        name: (old, now.get(name)) for name, old in scene["meanings"].items() if not within(old, now.get(name))
    }
    assert not differing
    assert len(scene["meanings"]) > 20


def test_compatibility_stored_messages_are_read_without_loss(scene: dict[str, Any]) -> None:
    for held in [*scene["messages"], *scene["dead_letters"]]:
        said = json.loads(held["body"])
        assert json.loads(read_run_message(held["body"]).to_json()) == said


def test_compatibility_recorded_scene_reaches_the_ends_that_its_own_release_reached(
    scene: dict[str, Any], tables: Tables
) -> None:
    assert carry_on(World(tables, at=MOMENT), scene) == scene["endings"]


def test_compatibility_tick_messages_name_their_shard(scene: dict[str, Any]) -> None:
    assert [json.loads(body)["shard"] for body in scene["shard_queue"]] == [0, 7]


# The other way round: for as long as a deployment lasts, and after one that was taken back, the release before works on
# what the present code has written.

ARCHIVE = RELEASES / NEWEST / "code.zip"
FUTURE = "written-by-a-later-release"


@pytest.fixture(scope="module")
def written_now() -> dict[str, Any]:
    """The scene as the present code plays it, with the ends that it comes to."""
    client = in_process.dynamodb()
    world = World(create_tables(client))
    play(world)
    scene = snapshot(world)
    scene["endings"] = carry_on(World(create_tables(client), at=MOMENT), scene)
    return scene


def test_compatibility_recorded_scene_covers_every_run_state_and_message_kind(written_now: dict[str, Any]) -> None:
    states = {item["state"]["S"] for item in written_now["runs"] if item["SK"]["S"].startswith("RUN#")}
    assert states == {str(state) for state in RunState}
    kinds = {json.loads(held["body"]).get("kind", "start") for held in written_now["messages"]}
    timers = [json.loads(item["message"]["S"]) for item in written_now["jobs"] if item["SK"]["S"].startswith("WAKE#")]
    assert kinds | {message.get("kind", "start") for message in timers} == {
        str(kind)
        for kind in MessageKind
        if kind not in (MessageKind.EVALUATE, MessageKind.FORECAST)  # the scene has no workflow, and no `at_risk`
    }
    items = {item["SK"]["S"].partition("#")[0] for item in [*written_now["jobs"], *written_now["runs"]]}
    assert items >= {"JOB", "CURSOR", "PAYLOAD", "GONE", "WAKE", "WATERMARK", "LIMITS", "LAST", "HIGHEST"}
    assert items >= {"RUN", "ACTIVE", "INPUT", "QUEUE", "WATCH", "LIMIT"}
    of_keys = {item["SK"]["S"].partition("#")[0] for item in written_now["runs"] if item["PK"]["S"].startswith("KEY#")}
    assert of_keys == {"ACTIVE", "BREAKER", "QUEUE", "RATE", "WATCH"}


def item_of_a_run(scene: dict[str, Any], job_id: str) -> dict[str, Any]:
    """The record of the only run of a job."""
    (record,) = [
        item for item in scene["runs"] if item["PK"]["S"].endswith(f"#{job_id}") and item["SK"]["S"].startswith("RUN#")
    ]
    return cast("dict[str, Any]", record)


@pytest.fixture(scope="module")
def written_later(written_now: dict[str, Any]) -> dict[str, Any]:
    """The scene with what a later release may add: fields of items and messages, a kind of message, a run's state."""
    scene = deepcopy(written_now)
    for item in [*scene["jobs"], *scene["runs"]]:
        item[FUTURE] = {"M": {"a": {"L": [{"N": "1"}]}}}
    for held in scene["messages"]:
        held["body"] = json.dumps(json.loads(held["body"]) | {FUTURE: {"a": [1]}})
    of_later = json.dumps(json.loads(scene["messages"][0]["body"]) | {"kind": FUTURE, "nonce": "future"})
    scene["messages"].append({"visible": 1.0, "serial": 900_000, "receives": 0, "body": of_later})
    item_of_a_run(scene, "fails")["state"] = {"S": "POSTPONED"}
    return scene


@pytest.fixture(scope="module")
def of_the_old(written_later: dict[str, Any]) -> dict[str, Any]:
    """How that scene ends when the release before carries it on."""
    ended: dict[str, Any] = ask(ARCHIVE, "carry on", definitions=table_definitions(), scene=written_later)
    return ended


@pytest.fixture
def expected(written_now: dict[str, Any]) -> dict[str, Any]:
    """The ends that what is written now comes to by itself."""
    ends: dict[str, Any] = written_now["endings"]
    return ends


def test_compatibility_previous_release_reads_current_items_with_their_meaning(written_now: dict[str, Any]) -> None:
    old = ask(ARCHIVE, "read", scene=written_now)
    assert set(old) == set(written_now["meanings"])
    differing = {name: read for name, read in old.items() if not within(read, written_now["meanings"][name])}
    assert not differing


def test_compatibility_previous_release_reads_job_without_schedule() -> None:
    made = job("")
    items = [job_item.to_item(made)[0], cursor_item.to_item(cursor(made), 1, now=NOON)]
    assert ask(ARCHIVE, "read", scene={"jobs": items, "runs": []}).keys() == meanings(items, []).keys()


def test_compatibility_previous_release_lists_and_revokes_a_key_with_scopes_but_starts_no_run_with_it(
    tables: Tables,
) -> None:
    text, scopes = key_text("default", "s" * 32), frozenset({"jobs:write:tag=team-a", "jobs:read:tag=team-a"})
    key = ApiKey("default", text.id, text.hash, no_job(scopes), 0, "", NOON, "ann", int(NOON) + 60, scopes=scopes)
    assert tables.job_store(SettableClock(NOON)).api_keys.add(key, 0)
    items = tables.client.scan(TableName=tables.jobs)["Items"]
    read = ask(ARCHIVE, "keys", definitions=table_definitions(), items=items)
    assert read == {text.id: {"job": "jobs:read:tag=team-a", "known": False, "signed": False, "revoked": True}}
    assert not is_id("jobs:read:tag=team-a")


def but_for_fails(endings: dict[str, Any]) -> dict[str, Any]:
    """How all ends but the job whose run is in a state of later."""
    return {
        part: {name: end for name, end in endings[part].items() if "fails." not in name and "#fails" not in name}
        for part in ("runs", "jobs", "calls")
    } | {"wakes": endings["wakes"]}


def test_compatibility_previous_release_continues_current_work_and_ignores_later_additions(
    of_the_old: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert but_for_fails(of_the_old) == but_for_fails(expected)


def test_compatibility_alternating_releases_reach_the_same_ends_on_shared_tables_and_lanes(
    ministack: str, written_now: dict[str, Any]
) -> None:
    """As behind a weighted alias: a message that one of them sent is worked on by the other, and sent on again."""
    endpoint, jobs, runs = fresh_tables(ministack)
    client = emulators.client("dynamodb", ministack)
    tables = Tables(client, jobs, runs)
    for part, table in (("jobs", jobs), ("runs", runs)):
        for item in written_now[part]:
            client.put_item(TableName=table, Item=item)
    lanes: dict[str, Any] = {name: written_now[name] for name in ("messages", "dead_letters")}
    calls: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    begin = MOMENT
    for turn, seconds in enumerate((60, 60, 120, 400, 1_000, 2_000, 2_500, LATER)):
        end = min(begin + seconds, MOMENT + LATER)
        if turn % 2:
            ended = ask(ARCHIVE, "take over", tables=[endpoint, jobs, runs], lanes=lanes, begin=begin, end=end)
            lanes, told = ended["lanes"], ended["endings"]
        else:
            world = World(tables, at=begin)
            lanes = take_over(world, lanes, begin=begin, end=end)
            told = endings(world)
        calls.update(told["calls"])
        wrong.update(told["wrong"])
        begin = end
    assert begin == MOMENT + LATER
    told |= {"calls": calls, "wrong": wrong}
    assert told == written_now["endings"]


def test_compatibility_message_of_unknown_kind_goes_to_the_dead_letters(
    written_later: dict[str, Any], of_the_old: dict[str, Any], expected: dict[str, Any]
) -> None:
    """It is left in the queue, where a new worker may get it; with old ones alone it is dead after five deliveries,
    and can be redriven once there are new ones. Nothing else is held up.
    """
    about = json.loads(written_later["messages"][0]["body"])
    name = f"{about['job_id']} {about['occurrence']} {FUTURE}"
    assert of_the_old["dead_letters"] == sorted([*expected["dead_letters"], name])
    assert of_the_old["wrong"]["MessagesUnreadable"] == 5


def test_compatibility_run_in_unknown_state_is_left_unchanged(
    written_later: dict[str, Any], of_the_old: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Its messages fail and come again, afresh before they were received too often, until a worker knows the state.
    Its record is not touched.
    """
    record = item_of_a_run(written_later, "fails")
    assert of_the_old["runs"][f"{record['PK']['S']}/{record['SK']['S']}"] == ["POSTPONED", None, 1]
    assert set(of_the_old["wrong"]) - set(expected["wrong"]) == {"MessagesUnreadable", "MessagesFailed"}
