"""The API's document, and the Python types of its parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

NOT_METHODS = {"getDocument", "getOidcConfiguration", "getOidcKeys", "trigger", "triggerWithHeader"}
"""Operations without a method: senders of webhooks and receivers of tokens need no client."""

Schema = Mapping[str, Any]


class Document:
    """The API's document, and the Python types of its parts."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.paths: Mapping[str, Any] = document["paths"]
        self.schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self.parameters: Mapping[str, Any] = document["components"]["parameters"]

    def named(self, schema: Schema) -> str | None:
        """Return the name of the schema to which a reference points."""
        return schema["$ref"].rpartition("/")[2] if "$ref" in schema else None

    def annotation(self, schema: Schema, *, sent: bool) -> str:
        """Return the type of a value in a request or a response."""
        if (name := self.named(schema)) is not None:
            whole = self.schemas[name]
            return name if "properties" in whole else self.annotation(whole, sent=sent)
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return self._union(options, sent=sent)
        if "const" in schema or "enum" in schema:
            values = [value for value in schema.get("enum", [schema.get("const")]) if value is not None]
            found = _literal(values)
            return f"{found} | None" if None in schema.get("enum", ()) else found
        kinds = [schema["type"]] if isinstance(schema.get("type"), str) else list(schema.get("type", ()))
        found = " | ".join(self._plain(kind, schema, sent=sent) for kind in kinds if kind != "null") or "Any"
        return f"{found} | None" if "null" in kinds else found

    def _union(self, options: list[Schema], *, sent: bool) -> str:
        some = [option for option in options if option and option.get("type") != "null"]
        parts = list(dict.fromkeys(self.annotation(option, sent=sent) for option in some))
        if "Any" in parts:
            return "Any"
        if not sent and len(parts) > 1:
            parts = ["Mapping[str, Any]" if part in self.schemas else part for part in parts]
        found = " | ".join(dict.fromkeys(parts))
        return f"{found} | None" if {"type": "null"} in options else found

    def _plain(self, kind: str, schema: Schema, *, sent: bool) -> str:
        if kind == "array":
            inner = self.annotation(schema.get("items", {}), sent=sent)
            return _many(inner) if sent else f"tuple[{inner}, ...]"
        if kind == "object":
            values = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
            inner = self.annotation(values, sent=sent) if isinstance(values, dict) else "Any"
            return f"Mapping[str, {inner}]"
        if kind == "string" and (schema.get("format") == "date-time" or _is_instant(schema)):
            return "datetime | str" if sent else "datetime"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind]

    def one_or_more(self, words: list[str]) -> str:
        """Return the type of one of these words, or of several."""
        return f"{_literal(words)} | {_many(_literal(words))}"

    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield method, path and operation of each route, in the document's order."""
        for path, methods in self.paths.items():
            for method, operation in methods.items():
                if method in {"get", "put", "post", "patch", "delete"} and operation["operationId"] not in NOT_METHODS:
                    yield method.upper(), path, operation

    def reachable(self, *roots: str) -> list[str]:
        """Return the names of the schemas with properties that these schemas need, sorted."""
        found: set[str] = set()
        open_ = list(roots)
        while open_:
            name = open_.pop()
            if name in found:
                continue
            found.add(name)
            open_ += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(self.schemas[name]))
        return sorted(name for name in found if "properties" in self.schemas[name])

    def answer(self, operation: Mapping[str, Any]) -> str | None:
        """Return the schema of an operation's successful response."""
        for status, response in operation["responses"].items():
            if status.startswith("2") and "content" in response:
                return self.named(response["content"]["application/json"]["schema"])
        return None

    def body(self, operation: Mapping[str, Any]) -> str | None:
        """Return the schema of an operation's body."""
        content = operation.get("requestBody", {}).get("content", {})
        return self.named(content["application/json"]["schema"]) if content else None


def _literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(map(repr, values))}]"


def _many(inner: str) -> str:
    """Return the type of several values. A string is a sequence of strings, so the type is not a sequence if a string
    is accepted.
    """
    takes_text = {"str", "Any", "datetime"} & set(re.findall(r"\w+", re.sub(r"\[.*\]", "", inner)))
    return f"list[{inner}] | tuple[{inner}, ...]" if takes_text else f"Sequence[{inner}]"


def _is_instant(schema: Schema) -> bool:
    return str(schema.get("description", "")).startswith("ISO-8601")
