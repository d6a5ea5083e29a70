"""Finding many words in one pass (Aho and Corasick, 1975): time grows with the data and the words, not with their
product, whatever they are.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

Span = tuple[int, int]
"""Where something begins and ends."""


class Automaton:
    """Finds these words, none of them empty, in bytes."""

    __slots__ = ("_beginnings", "_depths", "_fallbacks", "_found", "_steps")

    def __init__(self, words: Iterable[bytes]) -> None:
        """A state is a beginning of a word, 0 the empty one; `_steps` leads from state * 256 + byte to the next."""
        self._steps: dict[int, int] = {}
        self._depths = [0]
        self._found = [0]  # length of the longest word that ends in a state
        children: list[list[tuple[int, int]]] = [[]]
        for word in words:
            state = 0
            for byte in word:
                key = state << 8 | byte
                following = self._steps.get(key)
                if following is None:
                    following = self._steps[key] = len(self._depths)
                    children[state].append((byte, following))
                    children.append([])
                    self._depths.append(self._depths[state] + 1)
                    self._found.append(0)
                state = following
            self._found[state] = len(word)
        self._beginnings = re.compile(b"[" + re.escape(bytes(byte for byte, _ in children[0])) + b"]")
        self._fallbacks = [0] * len(self._depths)
        self._fall_back(children)

    def _fall_back(self, children: list[list[tuple[int, int]]]) -> None:
        """For each state the longest other one that is an end of it, the shallow states first."""
        pending = deque(state for _, state in children[0])
        while pending:
            parent = pending.popleft()
            for byte, state in children[parent]:
                fallback = self._step(self._fallbacks[parent], byte)
                self._fallbacks[state] = fallback
                self._found[state] = max(self._found[state], self._found[fallback])
                pending.append(state)

    def _step(self, state: int, byte: int) -> int:
        while state and (state << 8 | byte) not in self._steps:
            state = self._fallbacks[state]
        return self._steps.get(state << 8 | byte, 0)

    def spans(self, data: bytes) -> tuple[list[Span], int]:
        """Where words stand, in order, overlapping ones as one; and how many bytes at the end begin a word."""
        first = self._beginnings.search(data)  # nearly all short texts hold not even that
        if first is None:
            return [], 0
        spans: list[Span] = []
        steps, fallbacks, found = self._steps, self._fallbacks, self._found
        state = 0
        for end, byte in enumerate(data[first.start() :], first.end()):
            while (following := steps.get(state << 8 | byte)) is None and state:
                state = fallbacks[state]
            state = following or 0
            if length := found[state]:
                start = end - length
                while spans and spans[-1][1] > start:
                    start = min(start, spans.pop()[0])
                spans.append((start, end))
        return spans, self._depths[state]
