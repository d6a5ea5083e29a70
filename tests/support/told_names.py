"""The names in the code: of what is logged, with its levels, and of what is counted. Read from the source, not run."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tests.support.source import deployed

ROOT = Path(__file__).resolve().parents[2]

REPORTS = frozenset({"report", "told"})
"""What a Report is called where something is added to it."""

LOGGERS = frozenset({"logger", "_logger"})
LEVELS = {"info": "info", "warning": "warning", "error": "error", "exception": "error"}
COUNTING = {"count", "measure", "age"}

Scope = ast.Module | ast.FunctionDef


class UnreadableNameError(Exception):
    """A name that is made up as the code runs: nobody can look for it in a table."""


@dataclass(frozen=True)
class Source:
    """A module, with the places where each of its calls stands."""

    path: Path
    tree: ast.Module

    def where(self, node: ast.AST) -> str:
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"

    @cached_property
    def has_logger(self) -> bool:
        return any(isinstance(node, ast.Name) and node.id in LOGGERS for node in ast.walk(self.tree))

    def scoped(self) -> Iterator[tuple[ast.AST, tuple[Scope, ...]]]:
        """Every node with the functions around it, the innermost first, and the module last."""
        pending: list[tuple[ast.AST, tuple[Scope, ...]]] = [(self.tree, (self.tree,))]
        while pending:
            node, scopes = pending.pop()
            yield node, scopes
            inner = (node, *scopes) if isinstance(node, ast.FunctionDef) else scopes
            pending.extend((child, inner) for child in ast.iter_child_nodes(node))


@cache
def sources() -> tuple[Source, ...]:
    """All of the running code."""
    paths = [*deployed(), *sorted((ROOT / "functions").rglob("*.py"))]
    return tuple(Source(path, ast.parse(path.read_text())) for path in paths)


@cache
def actions() -> Mapping[str, set[str]]:
    """Every action, with the levels at which it is logged; a `*` stands for what is put in as the code runs."""
    found: dict[str, set[str]] = {}
    public = _takers(*sources())
    for source in sources():
        takers = {**{name: place for name, place in public.items() if not name.startswith("_")}, **_takers(source)}
        for node, scopes in source.scoped():
            said = _told(node, takers) if isinstance(node, ast.Call) else _fact(node) if source.has_logger else ()
            for expression, levels in said:
                for name in _texts(expression, scopes, source):
                    found.setdefault(name, set()).update(levels)
    return found


def _fact(node: ast.AST) -> Iterator[tuple[ast.expr, set[str]]]:
    """The field `action` of a line that a logger is given, which is written beside the message."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "action":
                yield value, set()


def documented_fields() -> Mapping[str, set[str]]:
    """The fields of each action's lines in the tables of docs/observability.md, apart from those of all lines."""
    _, _, section = (ROOT / "docs/observability.md").read_text().partition("\n## Logs\n")
    rows = [line.strip("|").split("|") for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    found = {cells[0].strip(" `"): set(re.findall(r"`(\w+)`", cells[3])) for cells in rows if len(cells) == 4}
    return {
        action: {name for field in fields for name in found.get(field, {field})} for action, fields in found.items()
    }


@cache
def words() -> set[str]:
    """Every name of an argument or of a field of a class, and every text: what a field of a line can be called."""
    found = {*texts()}
    for source in sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.keyword) and node.arg:
                found.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
    return found


@cache
def texts() -> set[str]:
    """Every text that stands in the code, for names that come to their place by way of an argument."""
    constants = (node for source in sources() for node in ast.walk(source.tree) if isinstance(node, ast.Constant))
    return {constant.value for constant in constants if isinstance(constant.value, str)}


@cache
def metrics() -> set[str]:
    """Every metric."""
    found: set[str] = set()
    for source in sources():
        for node, scopes in source.scoped():
            for expression in _counted(node):
                found |= _texts(expression, scopes, source)
    return found


def _told(call: ast.Call, takers: Mapping[str, int]) -> Iterator[tuple[ast.expr, set[str]]]:
    """What a call logs, now or later: the expression of the action, and its levels."""
    match call.func:
        case ast.Attribute(value, "add") if _last(value) in REPORTS:
            yield call.args[0], _levels(call)
        case ast.Attribute(value, level) if level in LEVELS and _last(value) in LOGGERS:
            yield call.args[0], {LEVELS[level]}
        case ast.Name(name) | ast.Attribute(ast.Name("self"), name) if len(call.args) > takers.get(
            name, len(call.args)
        ):
            yield call.args[takers[name]], _levels(call)


def _levels(call: ast.Call) -> set[str]:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "alarming"]
    match given:
        case []:
            return {"info"}
        case [ast.Constant(True)]:
            return {"error"}
    return {"info", "error"}


@cache
def _takers(*among: Source) -> Mapping[str, int]:
    """Functions and classes that are given an action, with its place among their arguments."""
    found: dict[str, int] = {}
    for source in among:
        if {"api", "gates", "usecases"} & set(source.path.parts):
            for node in ast.walk(source.tree):
                if isinstance(node, ast.FunctionDef):
                    names = [argument.arg for argument in node.args.args if argument.arg != "self"]
                elif isinstance(node, ast.ClassDef):
                    fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
                    names = [field.id for field in fields if isinstance(field, ast.Name)]
                else:
                    continue
                if "action" in names:
                    found[node.name] = names.index("action")
    return found


def _counted(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of metrics' names."""
    match node:
        case ast.Subscript(value, name, ast.Store()) if _last(value) == "counts":
            yield name
        case ast.Call(ast.Attribute(value, method), [name, _]) if method in COUNTING and _last(value) in REPORTS:
            yield name
        case ast.keyword("counts", ast.Dict(keys)):
            yield from (key for key in keys if key is not None)


def _texts(expression: ast.expr, scopes: tuple[Scope, ...], source: Source) -> set[str]:
    """The texts that an expression can be; none for what is handed on, which is looked at where it comes from."""
    match expression:
        case ast.Constant(str(text)):
            return {text}
        case ast.IfExp(_, one, other):
            return _texts(one, scopes, source) | _texts(other, scopes, source)
        case ast.Dict(_, values):
            return set().union(*(_texts(value, scopes, source) for value in values))
        case ast.Subscript(value, _) | ast.Call(ast.Attribute(value, "get"), _):
            return _texts(value, scopes, source)
        case ast.JoinedStr(parts):
            return {"".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)}
        case ast.Attribute(_, "action"):
            return set()
        case ast.Name(name):
            for scope in scopes:
                if isinstance(scope, ast.FunctionDef) and name in _parameters(scope):
                    return set()
                if (assigned := _assigned(name, scope)) is not None:
                    return _texts(assigned, scopes, source)
    raise UnreadableNameError(f"{source.where(expression)}: write the name out, or take it from a dictionary of names")


def _parameters(function: ast.FunctionDef) -> set[str]:
    given = function.args
    return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _assigned(name: str, scope: Scope) -> ast.expr | None:
    for node in ast.walk(scope):
        match node:
            case ast.Assign([ast.Name(given)], value) if given == name:
                return value
            case ast.NamedExpr(ast.Name(given), value) if given == name:
                return value
            case ast.For(ast.Name(given), ast.Tuple(values)) if given == name:
                return ast.Dict(keys=[None] * len(values), values=values)
    return None


def _last(expression: ast.expr) -> str | None:
    """`report` of `report` and of `self.report`."""
    match expression:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return None
