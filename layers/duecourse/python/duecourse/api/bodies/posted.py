"""Builds the models of request bodies from the declarations of domain types (domain.declared)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache, partial
from inspect import cleandoc
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import annotated_types
import pydantic
from annotated_types import MaxLen, MinLen
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, create_model

from duecourse.api.bodies.models import (
    LINE,
    UNIQUE,
    Body,
    Whole,
    each_once,
    filled,
    followed,
    no_controls,
    refuse,
    short,
)
from duecourse.domain import declared
from duecourse.domain.declared import Default, Doc, Each, Error, Form, Key, Like, Line, Name, Numbers, Rule, Without
from duecourse.domain.jobs import rules
from duecourse.domain.runs.rendering import DOT_SEGMENTS, MAX_CONCURRENCY_KEY, check_concurrency_key


def _template_key(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise refuse("must be printable ASCII")
    if key in DOT_SEGMENTS:
        raise refuse("must not be only one or two dots, because the path of a limit cannot contain it; choose a name")
    if problems := check_concurrency_key(key):
        raise refuse("; ".join(problems[:5]))
    return key


TemplateKey = Annotated[
    str,
    pydantic.Field(min_length=1, max_length=MAX_CONCURRENCY_KEY, json_schema_extra={"pattern": "^[ -~]*$"}),
    AfterValidator(_template_key),
]
"""A template that names a group of runs by their payloads."""

_NAMES = vars(annotated_types) | vars(declared) | {"rules": rules}

_OF_TEXT = (MinLen, MaxLen, Form, Key, Line, Numbers)
"""The declarations that describe a text itself. The others of a field that can be null also describe null."""

T = TypeVar("T")


def posted(kind: type[Any], base: type[Body] = Body, **types: Any) -> type[Body]:
    """Return the model of a posted `kind`, a dataclass: the fields of `base`, and those that the dataclass itself
    declares. Its description is the first paragraph of the docstring. `types`: the types of fields in requests, if
    they differ (None: the field cannot be posted).
    """
    hints = get_type_hints(kind, localns=_NAMES, include_extras=True)
    own = [each for each in fields(kind) if each.name in vars(kind)["__annotations__"]]
    made: type[Body] = create_model(
        kind.__name__.removesuffix("Policy").removesuffix("Rule") + "Body",
        __base__=base,
        __doc__=cleandoc(str(kind.__doc__)).partition("\n\n")[0].replace("\n", " "),
        __module__=kind.__module__,
        **dict(_field(hints, each, types) for each in own if types.get(each.name, each) is not None),
    )
    return made


class _Part(Body):
    """A part of a body, whose validator is built with that of the body."""

    model_config = pydantic.ConfigDict(defer_build=True)


_part = cache(partial(posted, base=_Part))


def _field(hints: Mapping[str, Any], field: Field[Any], types: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name, the type and the default of a field of a body."""
    kind, marks = _split(hints[field.name])
    if (like := _first(Like, marks)) is not None:
        marks = (*_split(hints[like.field])[1], *marks)
    options = [each for each in (get_args(kind) if isinstance(kind, UnionType) else (kind,)) if each is not NoneType]
    value = types[field.name] if field.name in types else _value(options[0], marks)
    default = _default(field, value) if (own := _first(Default, marks)) is None else own.value
    computed = callable(default)
    if kind is not Any and (computed or default is None or options != [kind]):
        inner = [each for each in marks if get_origin(options[0]) is tuple or isinstance(each, _OF_TEXT)]
        value = _with(value, [*_metadata(inner), *_checks(options[0])]) | None
        value = _with(value, [*_metadata([each for each in marks if each not in inner])])
    else:
        value = _with(value, [*_metadata(marks), *_checks(options[0])])
    if computed or (isinstance(default, int) and _first(Rule, marks) is not None):
        default = pydantic.Field(None if computed else default, validate_default=True)
    name = field.name if (other := _first(Name, marks)) is None else other.name
    return name, (value, default)


def _default(field: Field[Any], value: Any) -> Any:
    """Return the default of a field in requests, or `...` if the field is required."""
    if field.default_factory is not MISSING:
        return pydantic.Field(default_factory=partial(copy, value()))
    match field.default:
        case tuple() as entries:
            return pydantic.Field(default_factory=partial(list, entries))
        case StrEnum() as word:
            return word.value
        case default:
            return ... if default is MISSING else default


def _first(kind: type[T], marks: Iterable[Any]) -> T | None:
    return next((each for each in marks if isinstance(each, kind)), None)


def _split(hint: Any) -> tuple[Any, Sequence[Any]]:
    return (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())


def _with(kind: Any, metadata: Sequence[Any]) -> Any:
    return Annotated[(kind, *metadata)] if metadata else kind


def _value(kind: Any, marks: Iterable[Any]) -> Any:
    """Return the type of a value in a body."""
    if get_origin(kind) is tuple:
        each = () if (found := _first(Each, marks)) is None else found.declared
        return GenericAlias(list, _with(_value(get_args(kind)[0], each), [*_metadata(each)]))
    if not isinstance(kind, type):
        return kind
    if is_dataclass(kind):
        return _part(kind)
    if issubclass(kind, StrEnum):
        without = () if (some := _first(Without, marks)) is None else some.values
        return Literal[tuple(each.value for each in kind if each.value not in without)]
    return Whole if kind is int else kind


def _checks(kind: Any) -> Sequence[Any]:
    """Return the metadata of every value of a type, after that of its declarations."""
    if get_origin(kind) is tuple and not is_dataclass(get_args(kind)[0]):
        return pydantic.Field(json_schema_extra=UNIQUE), AfterValidator(each_once)
    return (AfterValidator(short),) if kind is float else ()


def _metadata(marks: Sequence[Any]) -> Iterator[Any]:
    """Yield pydantic's metadata for the declarations, and the declarations that the errors use."""
    for mark in marks:
        match mark:
            case Doc(text, example):
                yield pydantic.Field(description=text, examples=None if example is None else [example])
            case Form(pattern, error):
                yield from () if _first(Numbers, marks) else (pydantic.Field(pattern=f"^{pattern}$"),)
                yield Error(error)
            case Numbers() if (form := _first(Form, marks)) is not None:
                yield from _as_text(mark, f"^{form.pattern}$")
            case Key():
                yield from get_args(TemplateKey)[1:]
            case Line():
                yield from (pydantic.Field(json_schema_extra=LINE), AfterValidator(no_controls))
            case Default(value) if callable(value):
                yield AfterValidator(partial(filled, value))
            case Rule(problem):
                yield AfterValidator(partial(followed, problem))
            case _:
                yield mark


def _as_text(numbers: Numbers, pattern: str) -> Iterator[Any]:
    """Yield the metadata of a text that can be posted as a number."""

    def converted(value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value) if value >= numbers.low else ""  # the pattern rejects it
        return value

    options = [{"type": "string", "pattern": pattern}, {"type": "integer", "minimum": numbers.low}]
    yield from (BeforeValidator(converted), pydantic.Field(pattern=pattern))
    yield WithJsonSchema({"anyOf": options}, "validation")
