"""The modules of the methods: one of `Client` and one of `AsyncClient` for each operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scripts.client_code.bodies import DOCUMENTS
from scripts.client_code.document import Document, Schema
from scripts.client_code.names import docstring, python_name, snake

LEFT_OUT_PARAMETERS = {"x-correlation-id"}

_STATES = re.compile(r"\^\(([A-Z|]+)\)\(,\(\1\)\)\*\$")
"""The pattern of words that are separated by commas."""


def methods(document: Document, *, asynchronous: bool) -> str:
    """The module of the methods."""
    prefix = "Async" if asynchronous else ""
    called = [_method(document, *each, asynchronous=asynchronous) for each in document.operations()]
    code = "\n\n".join(called)
    answers = sorted(set(re.findall(r"models\.(\w+)", code)))
    sent = sorted(set(re.findall(r"bodies\.(\w+)", code)))
    code = re.sub(r"\b(models|bodies)\.", "", code)
    return (
        '"""Every operation of the API. Written by scripts/client_code from openapi.json (`make openapi`)."""\n\n'
        "from __future__ import annotations\n\nfrom abc import ABC, abstractmethod\n"
        f"from collections.abc import {'Awaitable, ' if asynchronous else ''}Mapping, Sequence\n"
        "from datetime import datetime\nfrom typing import Any, Literal, TypeVar\n\n"
        f"from duecourse.client.bodies import {', '.join(sent)}\n"
        "from duecourse.client.calls import Call\n"
        f"from duecourse.client.models import {', '.join(answers)}\n"
        f"from duecourse.client.pages import {prefix}Page\n"
        "from duecourse.client.reading import Answer\n\n"
        'A = TypeVar("A", bound=Answer)\n\n\n'
        f"class {prefix}Methods(ABC):\n"
        + docstring("The operations; `_send` and `_page` send their calls.")
        + f'''

    @abstractmethod
    def _send(self, call: Call, answer: type[A]) -> {_awaited("A", asynchronous)}:
        """The model of a call's answer."""

    @abstractmethod
    def _page(self, call: Call, item: type[A]) -> {_awaited(f"{prefix}Page[A]", asynchronous)}:
        """The page of items that a call is answered."""

{code}
'''
    )


def _query_type(kind: Schema, about: str) -> str | None:
    """The type of a parameter whose schema, made for text, does not say it."""
    if kind.get("enum") == ["true", "false"]:
        return "bool"
    return "datetime | str" if "ISO-8601" in about else None


def _awaited(kind: str, asynchronous: bool) -> str:
    return f"Awaitable[{kind}]" if asynchronous else kind


def _method(document: Document, method: str, path: str, operation: Mapping[str, Any], *, asynchronous: bool) -> str:
    positional: list[str] = []
    keywords: list[str] = []
    query: list[str] = []
    headers: list[str] = []
    told: list[str] = []
    more: list[str] = []

    def argument(name: str, kind: Schema, *, required: bool, sent: str | None = None, about: str | None = None) -> str:
        python = python_name(name)
        annotation = sent or document.annotation(kind, sent=True)
        if required:
            positional.append(f"{python}: {annotation}")
        else:
            keywords.append(f"{python}: {annotation.removesuffix(' | None')} | None = None")
        if about := about or kind.get("description"):
            told.append(f"`{python}`: {about[0].lower() + about[1:] if about[1:2].islower() else about}")
        return python

    for reference in operation.get("parameters", ()):
        parameter = document.parameters[reference["$ref"].rpartition("/")[2]] if "$ref" in reference else reference
        name, place = parameter["name"], parameter["in"]
        if name.lower() in LEFT_OUT_PARAMETERS:
            continue
        kind = parameter["schema"]
        about = parameter.get("description", "")
        sent = _query_type(kind, about)
        if states := _STATES.fullmatch(kind.get("pattern", "")):
            sent = document.one_or_more(states[1].split("|"))
            about = about.partition(", separated by commas")[0]
        python = argument(name, kind, required=place == "path", sent=sent, about=about)
        if place == "path":
            path = path.replace(f"{{{name}}}", f"{{{python}}}")
        elif place == "query":
            query.append(f'"{name}": {python}')
        elif name.lower() == "idempotency-key":
            more.append("idempotency_key=idempotency_key")
        else:
            headers.append(f'"{name}": {python}')
    if any("run" in way for way in operation.get("security", ())):
        positional.append("token: str")
        told.append("`token`: the attempt's callback token")
        more.append("token=token")
    body = document.body(operation)
    if body in DOCUMENTS:
        positional.append(f"{DOCUMENTS[body]}: bodies.{body}")
        more.append(f"body={DOCUMENTS[body]}")
    elif body is not None:
        schema = document.schemas[body]
        required = schema.get("required", ())
        names = []
        for field, kind in schema["properties"].items():
            names.append(f'"{field}": {argument(field, kind, required=field in required)}')
        positional[:] = [re.sub(r"\b(JobRequest)\b", r"bodies.\1", each) for each in positional]
        more.append(f"fields={{{', '.join(names)}}}")
    if query:
        more.append(f"query={{{', '.join(query)}}}")
    if headers:
        more.append(f"headers={{{', '.join(headers)}}}")
    answer = document.answer(operation)
    paged = answer is not None and answer.endswith("Page")
    item = document.named(document.schemas[answer]["properties"]["items"]["items"]) if paged and answer else answer
    model = f"models.{item}" if item else "Answer"
    page = "AsyncPage" if asynchronous else "Page"
    kind = f"{page}[{model}]" if paged else model if item else "Answer"
    arguments = ", ".join(("self", *positional, *(("*", *keywords) if keywords else ())))
    target = re.sub(r"^/v1/", "", path)
    literal = f'"{target}"' if "{" not in target else f'Call.at("{target}", {_names(target)})'
    summary = operation["summary"].rstrip(".") + "."
    description = "\n\n".join(part for part in (summary, operation.get("description", ""), _listed(told)) if part)
    sending = f"self._{'page' if paged else 'send'}(Call({', '.join((repr(method), literal, *more))}), {model})"
    head = f"def {snake(operation['operationId'])}({arguments}) -> {_awaited(kind, asynchronous)}:"
    return f"    {head}\n{docstring(description, 8)}\n        return {sending}\n"


def _names(target: str) -> str:
    names = re.findall(r"{(\w+)}", target)
    return ", ".join(f"{name}={name}" for name in names)


def _listed(told: list[str]) -> str:
    return "\n\n".join(line.rstrip(".") + "." for line in told)
