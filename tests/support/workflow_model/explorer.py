"""The search: breadth first over all states, or at random. A promise that is broken is told with the way there."""

from __future__ import annotations

from array import array
from random import Random
from typing import Any, NamedTuple

from duecourse.domain.runs.states import Record
from tests.support.workflow_model.values import Broken, Letter, State
from tests.support.workflow_model.workers import Node
from tests.support.workflow_model.world import World

MOST = 50_000_000
"""States of one case."""


class Found(NamedTuple):
    """What a search has seen."""

    states: int
    steps: int
    rests: int


class BrokenPromiseError(AssertionError):
    """With the shortest way there."""


class TooManyStatesError(Exception):
    """A case has more states than are to be searched."""


class Explorer(World):
    """One search."""

    def exhaust(self, limit: int = MOST) -> Found:
        """All states, breadth first. Raises BrokenPromiseError, also where a state cannot come to rest any more, and
        TooManyStatesError beyond `limit`.
        """
        first = self.beginning()
        numbers = {hash(first): 0}  # of ints only: the same at each run
        parents, heads, tails = array("l", [-1]), array("l"), array("l")
        at_rest: list[int] = []
        level = [(0, first)]
        while level:
            following: list[tuple[int, State]] = []
            for number, state in level:
                try:
                    if not state.workers and not state.lane:
                        self.promises.hold_at_rest(state)
                        at_rest.append(number)
                    for _, after in self.steps(state):
                        key = hash(after)
                        to = numbers.get(key)
                        if to is None:
                            to = numbers[key] = len(parents)
                            parents.append(number)
                            following.append((to, after))
                        heads.append(number)
                        tails.append(to)
                except Broken as broken:
                    raise BrokenPromiseError(self._told(broken.promise, parents, numbers, number)) from broken
            if len(parents) > limit:
                raise TooManyStatesError(f"more than {limit:,} states")
            level = following
        if (stuck := _never_at_rest(len(parents), heads, tails, at_rest)) is not None:
            raise BrokenPromiseError(self._told("I4 it never comes to rest", parents, numbers, stuck))
        return Found(len(parents), len(heads), len(at_rest))

    def walk(self, seed: int, steps: int, length: int = 2_000) -> Found:
        """So many steps at random, from the beginning again whenever nothing is left or after `length`."""
        chance, done, rests, walks = Random(seed), 0, 0, 0
        while done < steps:
            state, walks = self.beginning(), walks + 1
            path: list[tuple[object, ...]] = []
            for _ in range(length):
                try:
                    if not state.workers and not state.lane:
                        self.promises.hold_at_rest(state)
                        rests += 1
                    options = list(self.steps(state))
                except Broken as broken:
                    raise BrokenPromiseError("\n".join([broken.promise, *map(self._words, path)])) from broken
                if not options:
                    break
                said, state = chance.choice(options)
                path.append(said)
                done += 1
            else:
                raise BrokenPromiseError("\n".join(["I4 it does not come to rest", *map(self._words, path[-40:])]))
        return Found(walks, done, rests)

    def _told(self, promise: str, parents: array[int], numbers: dict[int, int], number: int) -> str:
        """The promise and the steps to this state, then what broke it where that was a step."""
        way = [number]
        while parents[way[-1]] >= 0:
            way.append(parents[way[-1]])
        state, words = self.beginning(), [promise]
        for wanted in way[-2::-1]:
            said, state = next(step for step in self.steps(state) if numbers.get(hash(step[1])) == wanted)
            words.append(self._words(said))
        return "\n".join([*words, f"then {self._state_words(state)}"])

    def _state_words(self, state: State) -> str:
        runs = [self._word(self.runs.values[record]) for record in state.records if record]
        workers = [self._word(self.workers.nodes[number]) for number in state.workers]
        lane = [self._word(self.letters.values[letter]) for letter in state.lane]
        return f"records {runs}, workers {workers}, lane {lane}, {self.ends.values[state.seen.truth]}"

    def _words(self, said: tuple[object, ...]) -> str:
        return " ".join(self._word(each) for each in said)

    def _word(self, value: Any) -> str:
        match value:
            case Node():
                return f"[{self._word(value.letter)}]"
            case Letter(message, id):
                again = f"/{message.attempt}" if message.attempt > 1 else ""
                return f"{message.kind}{again} {message.job_id}#{id}"
            case Record():
                return f"{value.job_id} {value.state}/{value.attempt} {value.reason or ''}#{value.message_id}".strip()
            case tuple():
                return " ".join(map(self._word, value))
            case _:
                return str(value)


def _never_at_rest(states: int, heads: array[int], tails: array[int], at_rest: list[int]) -> int | None:
    """The first state from which no way leads to rest; None where there is none."""
    starts = array("l", [0]) * (states + 1)
    for tail in tails:
        starts[tail + 1] += 1
    for number in range(states):
        starts[number + 1] += starts[number]
    places, before = array("l", starts), array("l", [0]) * len(heads)
    for head, tail in zip(heads, tails, strict=True):
        before[places[tail]] = head
        places[tail] += 1
    reached = bytearray(states)
    for number in at_rest:
        reached[number] = 1
    open_ = list(at_rest)
    while open_:
        number = open_.pop()
        for place in range(starts[number], starts[number + 1]):
            if not reached[before[place]]:
                reached[before[place]] = 1
                open_.append(before[place])
    stuck = reached.find(0)
    return None if stuck < 0 else stuck
