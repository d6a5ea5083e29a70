"""Secrets are replaced by `***` in whatever is kept of a call."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

from duecourse.adapters.targets.http.aho_corasick import Automaton

HIDDEN = "***"

MAX_FORMS_BYTES = 32 * 1024
"""Of all forms of all secrets together. What is beyond takes too much time and memory to look for; then nothing of an
answer is kept.
"""


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
