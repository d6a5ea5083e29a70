"""Parses YAML with the types of JSON: names are text, and so are all values except JSON's null, true, false and
numbers. (YAML 1.1 reads `on:` as true, 12:30 as 750 and 2026-12-01 as a date.) The written YAML is quoted for both
versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import yaml

from duecourse.cli.terminal import escaped

_TAG = "tag:yaml.org,2002:"

MAX_REPEATED = 1_000_000
"""The maximum number of characters and values of a document in which aliases repeat parts. Nested aliases multiply: ten
lines can expand to more than the available memory.
"""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # pyyaml has no types
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (the library's own, which `add_implicit_resolver` fills)


for _kind, _form, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)?", list("-+0123456789")),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(f"^(?:{_form})$"), _first)


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document of a text, and the places of its parts."""

    value: Any
    node: Any = None

    def line(self, pointer: str = "") -> int:
        """Return the line (from 1) of the part at a pointer (`target/url`), or of the nearest enclosing part."""
        if self.node is None:
            return 1
        node, line = self.node, self.node.start_mark.line
        for part in filter(None, pointer.split("/")):
            found = _inside(node, part.replace("~1", "/").replace("~0", "~"))
            if found is None:
                break
            line, node = found
        return int(line) + 1


class NotYamlError(ValueError):
    """A fault of a text and its line (from 1)."""

    def __init__(self, detail: str, line: int) -> None:
        super().__init__(detail)
        self.line = line


def parse(text: str) -> Iterator[Parsed]:
    """Yield each document of a text except empty ones. Raises NotYamlError."""
    loader = None
    try:
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            _check_aliases(node)
            if (value := _value(node)) is not None:
                yield Parsed(value, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        detail = ", ".join(filter(None, (error.context, error.problem)))
        raise NotYamlError(detail, 1 if mark is None else mark.line + 1) from error
    except yaml.reader.ReaderError as error:
        raise NotYamlError(f"#x{error.character:04x} is not a printable character", 1) from error
    except RecursionError as error:
        raise NotYamlError("the text is nested too deeply; use fewer levels", 1) from error
    finally:
        if loader is not None:
            loader.dispose()


def to_yaml(documents: Iterable[Mapping[str, Any]]) -> str:
    """Return the documents as a text that `parse` reads, without control characters for a terminal."""
    dumped = _dumped(documents, readable=True)
    return dumped if escaped(dumped) == dumped else _dumped(documents, readable=False)


def _dumped(documents: Iterable[Mapping[str, Any]], *, readable: bool) -> str:
    dumped = yaml.dump_all(list(documents), Dumper=_Dumper, sort_keys=False, allow_unicode=readable, width=100)
    return str(dumped).removeprefix("---\n")


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # pyyaml has no types
    def ignore_aliases(self, data: object) -> bool:
        """Return True: repeated values are written in full."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> Any:
    style = "|" if "\n" in text and not re.search(r"[ \t]\n|^\s|[^\n -~\u00a0-\ud7ff]|[\u2028\u2029]", text) else None
    breaks = '"' if re.search("[\x85\u2028\u2029]", text) else None  # YAML would fold these
    return dumper.represent_scalar(f"{_TAG}str", text, style=style or breaks)


_Dumper.add_representer(str, _text)


def _check_aliases(node: Any) -> None:
    """Raise NotYamlError if aliases make a document too large. Each node is visited once."""
    own: dict[int, int] = {}
    sizes: dict[int, int] = {}

    def size(each: Any) -> int:
        if id(each) not in sizes:
            inner = [] if isinstance(each, yaml.ScalarNode) else each.value
            if isinstance(each, yaml.MappingNode):
                inner = [part for pair in inner for part in pair]
            own[id(each)] = 1 + len(each.value) if isinstance(each, yaml.ScalarNode) else 1
            sizes[id(each)] = own[id(each)] + sum(map(size, inner))
        return sizes[id(each)]

    if size(node) > max(sum(own.values()), MAX_REPEATED):
        detail = (
            f"its aliases (*name) repeat more than {MAX_REPEATED} characters and values; write them out, or use fewer"
        )
        raise NotYamlError(detail, node.start_mark.line + 1)


def _value(node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(each) for each in node.value]
    found: dict[str, Any] = {}
    for key, each in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise NotYamlError("a name must be text", key.start_mark.line + 1)
        if key.value in found:
            raise NotYamlError(f"{key.value} occurs twice; keep one of them", key.start_mark.line + 1)
        found[key.value] = _value(each)
    return found


def _scalar(node: Any) -> Any:
    text = node.value
    match node.tag.removeprefix(_TAG):
        case "str" | "!":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if len(text) < 1000:
            return int(text)
        case "float" if isfinite(float(text)):
            return float(text)
        case "int" | "float":
            raise NotYamlError("the number is too large; put it in quotes", node.start_mark.line + 1)
        case tag:
            raise NotYamlError(f"{tag} is not supported; use text, numbers, lists or objects", node.start_mark.line + 1)


def _inside(node: Any, part: str) -> tuple[int, Any] | None:
    """Return the line and the node of a field of an object, or of an item of a list."""
    if isinstance(node, yaml.MappingNode):
        pairs: Sequence[tuple[Any, Any]] = node.value
        return next(((key.start_mark.line, each) for key, each in pairs if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and part.isdecimal() and int(part) < len(node.value):
        each = node.value[int(part)]
        return each.start_mark.line, each
    return None
