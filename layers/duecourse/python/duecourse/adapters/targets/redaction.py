"""Secrets are replaced by `***` in whatever is kept of a call."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

HIDDEN = "***"


class Redaction:
    """Hides these secrets: as they are, and as JSON, URLs and HTML write them. It is no wall against a target that
    means to give them away: such a target has them already.
    """

    __slots__ = ("_data_forms", "_text_forms")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Empty ones are left out; those of a letter or two hide more than themselves."""
        forms = {form for secret in secrets if secret.strip() for form in _forms(secret)}
        # The longest first: a secret that holds another one is to vanish as a whole.
        self._text_forms = sorted(forms, key=len, reverse=True)
        self._data_forms = sorted({data for form in forms for data in _encodings(form)}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without the secrets."""
        for form in self._text_forms:
            text = text.replace(form, HIDDEN)
        return text

    def data(self, data: bytes, *, broken_off: bool = False) -> bytes:
        """Bytes of an unknown encoding without the secrets; of bytes that were `broken_off` also without an end that
        may be the beginning of one.
        """
        for form in self._data_forms:
            data = data.replace(form, HIDDEN.encode())
        if broken_off:
            data = data[: len(data) - max((_begun(data, form) for form in self._data_forms), default=0)]
        return data

    def value(self, value: Any) -> Any:
        """A JSON value without the secrets, names of members and numbers included."""
        if not self._text_forms:
            return value
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self.value(inside) for name, inside in value.items()}
            case list():
                return [self.value(inside) for inside in value]
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


def _begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of the data are the beginning of the form."""
    return next((n for n in range(min(len(form) - 1, len(data)), 0, -1) if data.endswith(form[:n])), 0)
