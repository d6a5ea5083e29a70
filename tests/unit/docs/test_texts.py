"""The words of the texts that users see: error messages, help, descriptions of the API, labels of the console, alarms.

They use the terms of the field, as the documentation does. Add a text's word to the lists here when a reader stumbles
over it.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from duecourse.cli.main import main
from tests.unit.docs.test_words import AVOIDED, ROOT

PACKAGE = ROOT / "layers/duecourse/python/duecourse"
PYTHON = [
    path
    for folder in (PACKAGE, ROOT / "schedules/src", ROOT / "infra", ROOT / "cdk", ROOT / "functions")
    for path in sorted(folder.rglob("*.py"))
    if "cdk.out" not in path.parts
]
CONSOLE = [
    path
    for path in sorted((ROOT / "console/src").rglob("*.ts*"))
    if ".test." not in path.name and path.name != "schema.ts"
]

IN_TEXTS = AVOIDED | {
    "asks: requires, requests, prompts, calls": r"asks|asked|asking|ask(?! the operator)",
    "is none, is no number: is not a number": r"(?<!there )is none|(?<!there )is no (?!longer)[a-z]+",
    "spent: expired, used up": r"spent",
    "leave it out: remove it": r"leave (?:it|them|this|the \w+) out|left out",
    "goes on, go on: continue": r"go on|going on",
    "what is not this: the clause as a subject": (
        r"what (?:was|is|it|they|the|a|an) \w+ " r"(?:is|was|has|have|can|may|must)"
    ),
    "made up, of its own accord": r"made up|makes it up",
}
"""What to avoid in texts, with the field's term."""

TYPESCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
NOT_PROSE = re.compile(r"`[^`]*`|\{[^{}]*\}|https?://\S+")


def literal(node: ast.AST) -> str | None:
    """A string, with `{}` in the place of a formatted value."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in values)
        case _:
            return None


def texts_of(tree: ast.AST) -> Iterator[str]:
    """The strings of a module with at least two words, without its docstrings."""
    nodes = list(ast.walk(tree))
    docs = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    left_out = docs | {id(part) for each in nodes if isinstance(each, ast.JoinedStr) for part in each.values}
    for node in nodes:
        text = literal(node)
        if text is not None and " " in text.strip() and id(node) not in left_out:
            yield text


def errors_of(tree: ast.AST) -> Iterator[str]:
    """The texts within raised errors and the faults and problems that the API answers."""
    for node in ast.walk(tree):
        raised = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2].lower()
            raised = node if re.search(r"fault|problem|refus|error|wrong", called) else raised
        if raised is not None:
            yield from texts_of(raised)


def descriptions(value: Any) -> Iterator[str]:
    """The summaries and descriptions of the OpenAPI document."""
    match value:
        case dict():
            for name, inner in value.items():
                if name in ("summary", "description") and isinstance(inner, str):
                    yield inner
                else:
                    yield from descriptions(inner)
        case list():
            for inner in value:
                yield from descriptions(inner)


def help_texts(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it, without their examples."""
    context = click.Context(command, info_name=name)
    yield name, re.split(r"\n *(?:Examples?|duecourse|echo|#)", command.get_help(context))[0]
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from help_texts(inner, f"{name} {each}")


def shown(source: str) -> Iterator[str]:
    """The strings and the texts between tags of a file of the console."""
    plain = TYPESCRIPT_COMMENT.sub("", source)
    between_tags = r"(?:(?<==)>|(?<!=)[>}])([^<>{}=;`()&]*[A-Za-z][^<>{}=;`()&]*)(?=[<{])"
    for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|' + between_tags, plain):
        text = next(group for group in found.groups() if group is not None)
        if " " in text.strip():
            yield " ".join(text.split())


def notes_of(source: str) -> Iterator[str]:
    """The lines of the docstrings and comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            yield from token.string.splitlines()


def comments_of(source: str) -> Iterator[str]:
    """The lines of the comments of a file of the console."""
    for comment in TYPESCRIPT_COMMENT.findall(source):
        yield from comment.splitlines()


def clean(text: str) -> str:
    return NOT_PROSE.sub("", text)


@cache
def errors() -> dict[str, list[str]]:
    """The texts of `errors_of`, by file."""
    return {str(path.relative_to(ROOT)): list(errors_of(parsed(path))) for path in PYTHON}


@cache
def parsed(path: Path) -> ast.AST:
    """The module of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def texts() -> dict[str, list[str]]:
    """The texts that users see, by file or command."""
    document = json.loads((PACKAGE / "api/openapi/openapi.json").read_text(encoding="utf-8"))
    return {
        **{str(path.relative_to(ROOT)): list(texts_of(parsed(path))) for path in PYTHON},
        **{str(path.relative_to(ROOT)): list(shown(path.read_text(encoding="utf-8"))) for path in CONSOLE},
        "openapi.json": list(descriptions(document)),
        **{name: [" ".join(text.split())] for name, text in help_texts(main, "duecourse")},
    }


@cache
def notes() -> dict[str, list[str]]:
    """The lines of docstrings and comments, by file."""
    return {
        **{str(path.relative_to(ROOT)): list(notes_of(path.read_text(encoding="utf-8"))) for path in PYTHON},
        **{str(path.relative_to(ROOT)): list(comments_of(path.read_text(encoding="utf-8"))) for path in CONSOLE},
    }


def test_texts_of_the_console_include_those_next_to_a_value() -> None:
    assert set(shown("<b>{refused} Ask for it.</b> <i>{count} runs are late, {more}</i>")) == {
        "Ask for it.",
        "runs are late,",
    }


@pytest.mark.parametrize("avoided", [each for each in AVOIDED if not each.startswith("asks")])
def test_texts_in_docstrings_and_comments_use_standard_terms(avoided: str) -> None:
    word = re.compile(rf"\b(?:{AVOIDED[avoided]})\b", re.IGNORECASE)
    found = [f"{name}: {line.strip()}" for name, lines in notes().items() for line in lines if word.search(clean(line))]
    assert found == []


@pytest.mark.parametrize("avoided", IN_TEXTS)
def test_texts_visible_to_users_use_standard_terms(avoided: str) -> None:
    word = re.compile(rf"\b(?:{IN_TEXTS[avoided]})\b", re.IGNORECASE)
    found = [f"{name}: {text}" for name, lines in texts().items() for text in lines if word.search(clean(text))]
    assert found == []


def test_texts_include_error_messages_of_each_layer() -> None:
    """The walk finds the errors of each layer, so that the list of words applies to them."""
    layers = (("api", 100), ("domain", 50), ("usecases", 20), ("cli", 60), ("client", 10))
    for folder, least in (("duecourse_schedules/", 50), *((f"duecourse/{name}/", least) for name, least in layers)):
        messages = [text for name, lines in errors().items() if folder in name for text in lines]
        assert len(messages) >= least, folder
        assert set(messages) <= {text for lines in texts().values() for text in lines}
