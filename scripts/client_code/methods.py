"""Generates the modules of the methods: one of `Client` and one of `AsyncClient` for each operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scripts.client_code.bodies import DOCUMENTS, PARTS
from scripts.client_code.document import Document, Schema
from scripts.client_code.names import docstring, python_name, snake

LEFT_OUT_PARAMETERS = {"x-correlation-id"}

_STATES = re.compile(r"\^\(([A-Z|]+)\)\(,\(\1\)\)\*\$")
"""The pattern of words that are separated by commas."""


def methods(document: Document, *, asynchronous: bool) -> str:
    """Return the text of the module of the methods."""
    prefix = "Async" if asynchronous else ""
    called = [_method(document, *each, asynchronous=asynchronous) for each in document.operations()]
    code = "\n\n".join(called)
    answers = sorted(set(re.findall(r"models\.(\w+)", code)))
    sent = sorted({*re.findall(r"bodies\.(\w+)", code), *(part for part in PARTS if re.search(rf"\b{part}\b", code))})
    code = re.sub(r"\b(models|bodies)\.", "", code)
    return (
        '"""Every operation of the API. Written by scripts/client_code from openapi.json (`make openapi`)."""\n\n'
        "from __future__ import annotations\n\nfrom abc import ABC, abstractmethod\n"
        f"from collections.abc import {'Awaitable, ' if asynchronous else ''}Mapping, Sequence\n"
        "from datetime import datetime\nfrom typing import Any, Literal, TypeVar\n\n"
        f"from duecourse.client.bodies import {', '.join(sent)}\n"
        "from duecourse.client.calls import Call\n"
        f"from duecourse.client.models import {', '.join(answers)}\n"
        f"from duecourse.client.pagination import {prefix}Page\n"
        "from duecourse.client.reading import Answer\n\n"
        'A = TypeVar("A", bound=Answer)\n\n\n'
        f"class {prefix}Methods(ABC):\n"
        + docstring("The operations; `_send` and `_page` send their calls.")
        + f'''

    @abstractmethod
    def _send(self, call: Call, answer: type[A]) -> {_awaited("A", asynchronous)}:
        """Return the model of a call's response."""

    @abstractmethod
    def _page(self, call: Call, item: type[A]) -> {_awaited(f"{prefix}Page[A]", asynchronous)}:
        """Return the page of items in a call's response."""

{code}
'''
    )


def _query_type(kind: Schema, about: str) -> str | None:
    """Return the type of a query parameter if its schema describes only its text; otherwise None."""
    if kind.get("enum") == ["true", "false"]:
        return "bool"
    return "datetime | str" if "ISO-8601" in about else None


def _awaited(kind: str, asynchronous: bool) -> str:
    return f"Awaitable[{kind}]" if asynchronous else kind


@dataclass
class _Arguments:
    """The arguments of a method: its parameters, their descriptions, and the arguments of the call that it makes."""

    document: Document
    path: str
    positional: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    query: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """The arguments of the call other than query and headers."""

    def add(self, name: str, kind: Schema, *, required: bool, sent: str | None = None, about: str | None = None) -> str:
        """Add an argument, and return its name in Python. `sent`: its type, if the schema does not contain it."""
        python = python_name(name)
        annotation = sent or self.document.annotation(kind, sent=True)
        if required:
            self.positional.append(f"{python}: {annotation}")
        else:
            self.keywords.append(f"{python}: {annotation.removesuffix(' | None')} | None = None")
        if about := about or kind.get("description"):
            self.told.append(f"`{python}`: {about[0].lower() + about[1:] if about[1:2].islower() else about}")
        return python

    def add_parameter(self, parameter: Mapping[str, Any]) -> None:
        """Add a parameter of the path, the query or the headers."""
        name, place, kind = parameter["name"], parameter["in"], parameter["schema"]
        about = parameter.get("description", "")
        sent = _query_type(kind, about)
        if states := _STATES.fullmatch(kind.get("pattern", "")):
            sent = self.document.one_or_more(states[1].split("|"))
            about = about.partition(", separated by commas")[0]
        python = self.add(name, kind, required=place == "path", sent=sent, about=about)
        if place == "path":
            self.path = self.path.replace(f"{{{name}}}", f"{{{python}}}")
        elif place == "query":
            self.query.append(f'"{name}": {python}')
        elif name.lower() == "idempotency-key":
            self.sent.append("idempotency_key=idempotency_key")
        else:
            self.headers.append(f'"{name}": {python}')

    def add_token(self) -> None:
        """Add the token of a run."""
        self.positional.append("token: str")
        self.told.append("`token`: the attempt's callback token")
        self.sent.append("token=token")

    def add_body(self, body: str) -> None:
        """Add a body: a document as one argument, any other body field by field."""
        if body in DOCUMENTS:
            self.positional.append(f"{DOCUMENTS[body]}: bodies.{body}")
            self.sent.append(f"body={DOCUMENTS[body]}")
            return
        schema = self.document.schemas[body]
        required = schema.get("required", ())
        fields = schema["properties"].items()
        names = [f'"{name}": {self.add(name, kind, required=name in required)}' for name, kind in fields]
        self.positional = [re.sub(r"\b(JobRequest)\b", r"bodies.\1", each) for each in self.positional]
        self.sent.append(f"fields={{{', '.join(names)}}}")

    @property
    def taken(self) -> str:
        """The parameters in the method's signature."""
        return ", ".join(("self", *self.positional, *(("*", *self.keywords) if self.keywords else ())))

    @property
    def passed(self) -> list[str]:
        """The arguments of the call."""
        query = [f"query={{{', '.join(self.query)}}}"] if self.query else []
        headers = [f"headers={{{', '.join(self.headers)}}}"] if self.headers else []
        return [*self.sent, *query, *headers]


def _arguments(document: Document, path: str, operation: Mapping[str, Any]) -> _Arguments:
    arguments = _Arguments(document, path)
    for reference in operation.get("parameters", ()):
        parameter = document.parameters[reference["$ref"].rpartition("/")[2]] if "$ref" in reference else reference
        if parameter["name"].lower() not in LEFT_OUT_PARAMETERS:
            arguments.add_parameter(parameter)
    if any("run" in way for way in operation.get("security", ())):
        arguments.add_token()
    if (body := document.body(operation)) is not None:
        arguments.add_body(body)
    return arguments


def _method(document: Document, method: str, path: str, operation: Mapping[str, Any], *, asynchronous: bool) -> str:
    arguments = _arguments(document, path, operation)
    answer = document.answer(operation)
    paged = answer is not None and answer.endswith("Page")
    item = document.named(document.schemas[answer]["properties"]["items"]["items"]) if paged and answer else answer
    model = f"models.{item}" if item else "Answer"
    page = "AsyncPage" if asynchronous else "Page"
    kind = f"{page}[{model}]" if paged else model
    target = re.sub(r"^/v1/", "", arguments.path)
    literal = f'"{target}"' if "{" not in target else f'Call.at("{target}", {_names(target)})'
    summary = operation["summary"].rstrip(".") + "."
    paragraphs = (summary, operation.get("description", ""), _listed(arguments.told))
    description = "\n\n".join(part for part in paragraphs if part)
    call = f"Call({', '.join((repr(method), literal, *arguments.passed))})"
    sending = f"self._{'page' if paged else 'send'}({call}, {model})"
    head = f"def {snake(operation['operationId'])}({arguments.taken}) -> {_awaited(kind, asynchronous)}:"
    return f"    {head}\n{docstring(description, 8)}\n        return {sending}\n"


def _names(target: str) -> str:
    names = re.findall(r"{(\w+)}", target)
    return ", ".join(f"{name}={name}" for name in names)


def _listed(told: list[str]) -> str:
    return "\n\n".join(line.rstrip(".") + "." for line in told)
