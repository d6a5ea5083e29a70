"""Where workers stand: what each has been answered, and what it asks next. Each place is made once."""

from dataclasses import dataclass, field
from typing import Any

from duecourse.domain.runs.states import Run
from tests.support.wait_queue_model import Kept
from tests.support.workflow_model.protocol import Protocol
from tests.support.workflow_model.records import ids_of
from tests.support.workflow_model.values import EARLY, Delete, Letter, Question, Read, Stage, WorkflowRun


@dataclass(slots=True)
class Node:
    """Where a worker stands. `run`: of which run (0: the workflow's) its letter is, `attempt`: which of its attempts is
    at work here, `ids`: numbers of messages that it knows, `deleted`: its message is.
    """

    letter: Letter
    run: int
    attempt: int
    ids: int
    deleted: bool
    question: Question
    stage: Stage
    answers: tuple[Any, ...]
    got: tuple[tuple[int, int], ...]
    unread: tuple[tuple[int, tuple[str, int]], ...]
    following: dict[Any, int] = field(default_factory=dict, repr=False)


@dataclass
class Workers:
    """Numbers for places, from 0 on. `runs` and `ends` number what is read."""

    protocol: Protocol
    runs: Kept
    ends: Kept
    nodes: list[Node] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def answered(self, number: int, answer: Any) -> int:
        node = self.nodes[number]
        following = node.following.get(answer)
        if following is None:
            following = node.following[answer] = self.at(node.stage, (*node.answers, answer))
        return following

    def reads(self, node: Node, place: int, value: int) -> int:
        assert isinstance(node.question, Read)
        keys, got = node.question.keys, tuple(sorted([*node.got, (place, value)]))
        if len(got) == len(keys):
            values = tuple(self._value(what, known) for (what, _), (_, known) in zip(keys, got, strict=True))
            following = self.at(node.stage, (*node.answers, values))
        else:
            following = self.at(node.stage, node.answers, got)
        node.following[(place, value)] = following
        return following

    def _value(self, what: str, value: int) -> Any:
        match what:
            case "part":
                return self.ends.values[value]
            case "of":
                return WorkflowRun(bool(value & 1), EARLY + (value >> 1) if value >> 1 else None)
            case _:
                return self.runs.values[value]

    def at(self, stage: Stage, answers: tuple[Any, ...] = (), got: tuple[tuple[int, int], ...] = ()) -> int:
        key = (stage, answers, got)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._made(stage, answers, got)
        return number

    def _made(self, stage: Stage, answers: tuple[Any, ...], got: tuple[tuple[int, int], ...]) -> int:
        asking, deleted = getattr(self.protocol, stage.name)(*stage.args), False
        try:
            question = next(asking)
            for answer in answers:
                deleted |= isinstance(question, Delete)
                question = asking.send(answer)
        except StopIteration as ended:
            return self.at(ended.value)
        letter = stage.args[0]
        known = [each for each in (*stage.args, *answers) if isinstance(each, Run)]
        known += [each for one in answers if isinstance(one, tuple) for each in one if isinstance(each, Run)]
        if isinstance(question, Read):
            known += [self.runs.values[value] for place, value in got if question.keys[place][0] == "own"]
        ids = letter.ids
        for run in known:
            ids |= ids_of(run)
        attempt = stage.args[1].attempt if stage.name in ("call", "begin", "finish") else 0
        run_number = self.protocol.run_number(letter.message)
        keys = question.keys if isinstance(question, Read) else ()
        known_places = {place for place, _ in got}
        unread = tuple((place, key) for place, key in enumerate(keys) if place not in known_places)
        self.nodes.append(Node(letter, run_number, attempt, ids, deleted, question, stage, answers, got, unread))
        return len(self.nodes) - 1
