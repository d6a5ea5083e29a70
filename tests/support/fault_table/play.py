"""Play a story, with or without a fault, until all is settled."""

from dataclasses import dataclass

from tests.support.client_faults import Fault
from tests.support.fault_table.danger import Aim, Danger
from tests.support.fault_table.direct import dynamodb
from tests.support.fault_table.ending import Ending, ending
from tests.support.fault_table.oracle import problems
from tests.support.fault_table.points import Point
from tests.support.fault_table.stage import RECONCILER_SECONDS, Stage
from tests.support.fault_table.story import Story
from tests.support.tables import create_tables

PATIENCE_SECONDS = 2 * 3600
"""How long the parts that run every few minutes have to settle everything; after that it is index repair's turn."""

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Played:
    """A play: the points met on the way, how it ended, and what is wrong with that."""

    points: tuple[Point, ...]
    ending: Ending
    problems: tuple[str, ...]
    struck: bool


def faults_of(point: Point) -> tuple[Fault, ...]:
    """What may happen to a write. Nobody repeats a call by itself; a message is deleted or not."""
    match point.operation:
        case "call":
            return (Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST, Fault.REFUSED)
        case "delete message" if point.component == "worker":
            return (Fault.DIES_BEFORE,)
        case _:
            return tuple(Fault)


def play(story: Story, aim: Aim | None = None) -> Played:
    """The story on fresh tables, with a fault where one is aimed at."""
    tables = create_tables(dynamodb())
    danger = Danger(aim)
    stage = Stage(tables, danger)
    try:
        story.play(stage)
        found = _settled(story, stage)
        return Played(tuple(danger.points), found, (*problems(story, found), *_redriven(stage)), danger.struck)
    finally:
        for table in (tables.jobs, tables.runs):
            tables.client.delete_table(TableName=table)


def _settled(story: Story, stage: Stage) -> Ending:
    end = stage.clock.now() + PATIENCE_SECONDS
    while problems(story, found := ending(stage)) and stage.clock.now() < end:
        stage.until(stage.clock.now() + RECONCILER_SECONDS)
    if problems(story, found):
        stage.until(stage.clock.now() + DAY_SECONDS - PATIENCE_SECONDS, ticking=False)
        stage.repair_once()
        stage.until(stage.clock.now() + RECONCILER_SECONDS)
        found = ending(stage)
    return found


def _redriven(stage: Stage) -> list[str]:
    """What does not come back by the console's redrive, once the target is well again."""
    dead = {record.name for record in ending(stage).records if record.state == "DEAD"}
    if not dead:
        return []
    stage.target.answers.clear()
    stage.wheel.redrive()
    stage.until(stage.clock.now() + 2 * RECONCILER_SECONDS)
    after = ending(stage)
    states = {record.name: record.state for record in after.records}
    left = [f"left after a redrive: {each}" for each in after.left if "cursor" not in each]
    return [f"{name}: {states[name]} after a redrive" for name in dead if states[name] != "SUCCEEDED"] + left
