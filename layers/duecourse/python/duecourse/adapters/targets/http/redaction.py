"""Secrets are replaced by `***` in whatever is kept of a call.

Many words are found in one pass (Aho and Corasick, 1975): time grows with the data and the words, not with their
product, whatever they are.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

Span = tuple[int, int]
"""Where something begins and ends."""

HIDDEN = "***"

MAX_FORMS_BYTES = 32 * 1024
"""Of all forms of all secrets together. What is beyond takes too much time and memory to look for; then nothing of an
answer is kept.
"""


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


class Redaction:
    """Hides these secrets: as they are, and as JSON, URLs and HTML write them. It is no wall against a target that
    means to give them away: such a target has them already.

    Its time grows with what is looked at and with the secrets, not with their product: some 0.1 s for 256 KB.
    """

    __slots__ = ("_automaton", "_everything")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Empty ones are left out; those of a letter or two hide more than themselves."""
        forms: set[bytes] = set()
        size = 0
        for secret in secrets:
            if secret.strip() and size <= MAX_FORMS_BYTES:
                new = {data for form in _forms(secret) for data in _encodings(form)} - forms
                size += sum(map(len, new))
                forms |= new
        self._everything = size > MAX_FORMS_BYTES
        self._automaton = Automaton(forms) if forms and not self._everything else None

    def text(self, text: str) -> str:
        """The text without the secrets."""
        return self.data(text.encode(errors="replace")).decode(errors="replace")

    def data(self, data: bytes, *, broken_off: bool = False) -> bytes:
        """Bytes of an unknown encoding without the secrets; of bytes that were `broken_off` also without an end that
        may be the beginning of one.
        """
        if self._everything:
            return HIDDEN.encode()
        if self._automaton is None:
            return data
        spans, begun = self._automaton.spans(data)
        parts: list[bytes] = []
        kept = 0
        for start, end in spans:
            parts += (data[kept:start], HIDDEN.encode())
            kept = end
        end = len(data) - begun if broken_off else len(data)
        return b"".join((*parts, data[kept:end]))

    def value(self, value: Any) -> Any:
        """A JSON value without the secrets, names of members and numbers included."""
        if self._everything:
            return HIDDEN
        return value if self._automaton is None else self._value(value)

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self._value(inside) for name, inside in value.items()}
            case list():
                return [self._value(inside) for inside in value]
            case None | bool():
                return value
            case _:
                return value if self.text(written := str(value)) == written else HIDDEN


def _forms(secret: str) -> set[str]:
    written = orjson.dumps(secret).decode()[1:-1]
    ascii_only = "".join(char if char.isascii() else _escaped(char) for char in written)
    encoded = {quote(secret, safe=""), quote(secret), quote_plus(secret), escape(secret), escape(secret, quote=False)}
    return {secret, secret.strip(), written, ascii_only, ascii_only.replace("/", "\\/")} | encoded


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _encodings(form: str) -> Iterable[bytes]:
    """Answers are UTF-8; but headers go out, and may come back, in Latin-1."""
    yield form.encode()
    if not form.isascii() and max(form) <= "\xff":
        yield form.encode("latin-1")
