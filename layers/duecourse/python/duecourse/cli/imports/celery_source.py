"""Finds Celery's beat_schedule, its time zone and all writes to it in a Python file, which is parsed but never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.cli.imports.entry import Entry, NotReadableError, one_line

ZONES = ("timezone", "CELERY_TIMEZONE", "TIME_ZONE")
"""The names of the setting for the time zone, in the order in which they count."""

_UTC = ("enable_utc", "CELERY_ENABLE_UTC")
_CHANGES = frozenset({"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"})
_ELSEWHERE = ("config_from_object", "config_from_envvar")
_WRITE_LITERAL = "write a literal, beat_schedule = {...}"
_REMEDY = "write the zone as a literal, or use --timezone"


class Computed(Exception):
    """A value that is known only when the file runs."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call in the file: `crontab(minute=0)`."""

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """An entry of the schedule: its value, or a Computed."""

    name: str
    place: str
    value: Any
    replaced: bool = False
    """Whether a later entry of the dictionary has the same name."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A write to a setting: its name, its place, and the new value. None: a part changes, or the value is unknown."""

    name: str
    node: ast.AST
    value: ast.expr | None = None

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 1))


def is_schedule(name: str) -> bool:
    """Return whether a setting of this name is a beat schedule, whatever its prefix."""
    return name.lower().endswith("beat_schedule") or name == "CELERYBEAT_SCHEDULE"


def of_python(text: str, file: str, zone: str | None) -> tuple[str | None, list[Task], list[Entry]]:
    """Return the time zone, the entries of the first literal, and the other writes, which are not imported. `zone` is
    the caller's time zone, or None. Raises NotReadableError.
    """
    try:
        module = ast.parse(text)
        writes = sorted(_writes(module), key=lambda each: each.line)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotReadableError(f"{file} is not valid Python: {error}") from error
    schedules = [each for each in writes if is_schedule(each.name)]
    if not schedules:
        raise NotReadableError(f"{file}: beat_schedule is missing; {_WRITE_LITERAL}")
    literals = [(each, pairs) for each in schedules if (pairs := _pairs(each.value)) is not None]
    chosen, pairs = next((each for each in literals if each[1]), literals[0] if literals else (None, []))
    first = None if chosen is None else chosen.line
    try:
        found_zone = _zone(module, writes, file)
    except NotReadableError:
        if zone is None:
            raise
        found_zone = zone
    last = {key: number for number, (key, _) in enumerate(pairs)}
    tasks = [
        Task(
            "?" if key is None else key, f"{file}:{value.lineno}", _entry(value), key is not None and last[key] > number
        )
        for number, (key, value) in enumerate(pairs)
    ]
    why = f"is not imported: {_WRITE_LITERAL}"
    if first is not None:
        why = f"is not imported, because only the beat_schedule at {file}:{first} is; add its entries there"
    empty = [each for each, found in literals if not found and first is not None and each.line < first]
    left = [
        Entry(f"{file}:{each.line}", one_line(ast.get_source_segment(text, each.node) or each.name), None, (why,))
        for each in schedules
        if each is not chosen and each not in empty
    ]
    return found_zone, tasks, [*left, *_elsewhere(module, text, file)]


def _writes(module: ast.Module) -> Iterator[_Write]:
    """Yield all writes to the settings. A zone that a function assigns to a name is its local variable."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = (each for node in ast.walk(module) if isinstance(node, functions) for each in ast.walk(node))
    local = {each for each in inside if isinstance(each, ast.Name)}
    assigned: set[ast.AST] = set()
    for node in ast.walk(module):
        for target, value in _assignments(node):
            name = _setting(target)
            if name:
                assigned.add(target)
            if name and value is not None and (is_schedule(name) or target not in local):
                yield _Write(name, node, value)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            name = _setting(node) or (_setting(node.value) if isinstance(node, ast.Subscript) else "")
            if name and node not in assigned and (is_schedule(name) or node not in local):
                yield _Write(name, node)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                _Write(name, node)
                for each in node.names
                if is_schedule(name := each.asname or each.name) or (name in ZONES and name.isupper())
            )
        elif isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Dict):
            yield from (_Write(key, value, value) for key, value in _pairs(node) or () if key and is_schedule(key))


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield the targets of an assignment, with the value."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
            if "celery" in (_last(target) or "").lower():  # CELERY = {"timezone": ...}
                yield from _named(node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        yield node.target, node.value


def _named(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the time zones of a dictionary with settings, as assignments to a name."""
    for key, value in _pairs(node) or ():
        if key and not is_schedule(key) and _is_setting(key):
            yield ast.Attribute(node, key, ast.Store()), value


def _of_call(node: ast.Call) -> Iterator[_Write]:
    called = _last(node.func) or ""
    if called in ("add_periodic_task", "periodic_task"):
        yield _Write("beat_schedule", node)
    elif isinstance(node.func, ast.Attribute) and called in _CHANGES:
        name = _setting(node.func.value)
        if is_schedule(name):
            yield _Write(name, node)
            return
    if called == "setattr" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
        name = str(node.args[1].value)
        if _is_setting(name):
            yield _Write(name, node, node.args[2])
    settings = called in ("update", "Celery")
    for each in node.keywords:
        if each.arg and (is_schedule(each.arg) or (settings and _is_setting(each.arg))):
            yield _Write(each.arg, each.value, each.value)
    for argument in node.args if settings else ():
        for target, value in _named(argument):
            yield _Write(_setting(target), value, value)


def _elsewhere(module: ast.Module, text: str, file: str) -> Iterator[Entry]:
    """Yield a note on each statement that takes settings from elsewhere."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_update = node.func.attr == "update" and _last(node.func.value) == "conf"
            computed = any(_pairs(each) is None for each in node.args) or any(
                each.arg is None for each in node.keywords
            )
            if node.func.attr in _ELSEWHERE or (is_update and computed):
                why = "its settings are not read; import their beat_schedule too, and use --timezone for their zone"
                text_of = ast.get_source_segment(text, node) or node.func.attr
                yield Entry(f"{file}:{node.lineno}", one_line(text_of), None, (why,), setting=True)


def _zone(module: ast.Module, writes: list[_Write], file: str) -> str | None:
    """Return the time zone of the file, or None if it sets none. Raises NotReadableError if it cannot be known."""
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for name in ZONES:
        found = [(each, _zone_of(each.value, constants)) for each in writes if each.name == name]
        if unknown := next((each for each, value in found if value is None), None):
            raise NotReadableError(f"{file}:{unknown.line}: {name} is computed; {_REMEDY}")
        if len({value for _, value in found}) > 1:
            raise NotReadableError(f"{file}:{found[1][0].line}: {name} is set to different zones; use --timezone")
        if found:
            return found[0][1]
    for each in writes:
        if each.name in _UTC and not (isinstance(each.value, ast.Constant) and each.value.value is True):
            raise NotReadableError(
                f"{file}:{each.line}: {each.name} is not True, so the zone is that of the machine; use --timezone"
            )
    return None


def _zone_of(node: ast.expr | None, constants: Mapping[str, ast.expr], depth: int = 3) -> str | None:
    match node:
        case ast.Constant(value=str(zone)):
            return zone
        case ast.Name(id=name) if name in constants and depth:
            return _zone_of(constants[name], constants, depth - 1)
        case ast.Call(args=[ast.Constant(value=str(zone))], keywords=[]) if _last(node.func) in (
            "ZoneInfo",
            "timezone",
            "gettz",
        ):
            return zone
    return None


def _is_setting(name: str) -> bool:
    return is_schedule(name) or name in ZONES or name in _UTC


def _setting(node: ast.AST) -> str:
    """Return the name of the setting to which an expression refers, or an empty text."""
    name = _last(node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):  # conf["timezone"]
        name = str(node.slice.value)
    return name if name and _is_setting(name) else ""


def _last(node: ast.AST) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _pairs(node: ast.AST | None) -> list[tuple[str | None, ast.expr]] | None:
    """Return the keys and values of a dictionary or a call of dict. A key that is computed is None. None if the
    expression is something else.
    """
    if isinstance(node, ast.Dict):
        keys = (str(key.value) if isinstance(key, ast.Constant) else None for key in node.keys)
        return list(zip(keys, node.values, strict=True))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        inner = [_pairs(each) for each in node.args]
        if len(inner) > 1 or None in inner:
            return None
        return [*(inner[0] or [] if inner else []), *((each.arg, each.value) for each in node.keywords)]
    return None


def _entry(node: ast.expr) -> Any:
    """Return the entry. Each computed field has a Computed as its value."""
    pairs = _pairs(node)
    if pairs is None or any(key is None for key, _ in pairs):
        return Computed()
    found: dict[str, Any] = {}
    for key, value in pairs:
        try:
            found[str(key)] = _literal(value, calls=key == "schedule")
        except Computed as computed:
            found[str(key)] = computed
    return found


def _literal(node: ast.expr, *, calls: bool) -> Any:
    """Return the value of a literal. `calls`: calls are allowed, and become a Call. Raises Computed."""
    if (pairs := _pairs(node)) is not None and isinstance(node, ast.Call):
        if any(key is None for key, _ in pairs):
            raise Computed
        return {key: _literal(value, calls=calls) for key, value in pairs}
    if isinstance(node, ast.Call) and calls:
        if any(each.arg is None for each in node.keywords):
            raise Computed
        name = _last(node.func) or ""
        if name == "from_string" and isinstance(node.func, ast.Attribute):
            name = f"{_last(node.func.value)}.{name}"
        named = {str(each.arg): _literal(each.value, calls=calls) for each in node.keywords}
        return Call(name, tuple(_literal(each, calls=calls) for each in node.args), named)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):  # 60 * 60
        left, right = _literal(node.left, calls=calls), _literal(node.right, calls=calls)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return left * right
        raise Computed
    try:
        if isinstance(node, ast.Dict) and None not in node.keys:
            keys = [ast.literal_eval(key) for key in node.keys if key is not None]
            return dict(zip(keys, (_literal(value, calls=calls) for value in node.values), strict=True))
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
            return kind(_literal(each, calls=calls) for each in node.elts)
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError) as error:
        raise Computed from error
