"""How often the decision about a message goes from file to file, read from the source.

The path begins at `decide` and enters each function of `domain/runs` that is called, in the order of the source, with
all branches. A function that was entered before is entered again, but not followed again. A method is followed if only
one class has a method of its name.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import duecourse

STEPS = 23
RETURNS = 21
"""The returns to a file that was already left. Lower both numbers when a change makes the path shorter."""

FOLDER = Path(duecourse.__file__).parent / "domain" / "runs"

Key = tuple[str, str]
"""The module and the name of a function or method."""


def test_one_message_is_decided_on_a_path_with_a_limited_number_of_steps_from_file_to_file() -> None:
    visited = [module for module, _ in groupby(module for module, _ in path_from("decide"))]
    assert len(visited) <= STEPS
    assert len(visited) - len(set(visited)) <= RETURNS


def path_from(name: str) -> list[Key]:
    """Return the functions that are entered from this one, in order."""
    functions: dict[Key, ast.FunctionDef] = {}
    imported: dict[Key, Key] = {}
    methods = defaultdict[str, list[Key]](list)
    for file in FOLDER.glob("*.py"):
        for node in (tree := ast.parse(file.read_text())).body:
            for each in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(each, ast.FunctionDef):
                    functions[file.stem, each.name] = each
                    if each is not node:
                        methods[each.name].append((file.stem, each.name))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("duecourse.domain.runs."):
                module = str(node.module).rpartition(".")[2]
                imported |= {(file.stem, alias.asname or alias.name): (module, alias.name) for alias in node.names}
    entered: list[Key] = []

    def enter(key: Key) -> None:
        known = key in entered
        entered.append(key)
        for call in () if known else calls(functions[key]):
            match call.func:
                case ast.Name(id=called):
                    target = (key[0], called)
                    target = target if target in functions else imported.get(target, target)
                    if target in functions:
                        enter(target)
                case ast.Attribute(attr=called) if len(methods[called]) == 1:
                    enter(methods[called][0])

    enter(next(key for key in functions if key[1] == name))
    return entered


def calls(node: ast.AST) -> Iterator[ast.Call]:
    """Return the calls within a node, the inner ones first."""
    for child in ast.iter_child_nodes(node):
        yield from calls(child)
    if isinstance(node, ast.Call):
        yield node
