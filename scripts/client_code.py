"""`python -m scripts.client_code`: write the Python client's models and methods from openapi.json.

Answers become frozen dataclasses, bodies TypedDicts, every operation one method of `Client` and one of `AsyncClient`,
which differ in nothing but `await`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from textwrap import fill, indent
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "layers" / "duecourse" / "python" / "duecourse" / "client"
FILES = ("models.py", "bodies.py", "methods.py", "async_methods.py")
DOCUMENTS = {"JobRequest": "job", "JobPatch": "changes", "WorkflowRequest": "workflow"}
"""Bodies that are handed over whole, by the argument's name; the fields of the others are arguments."""
BASES = {
    "Heartbeat": "HeartbeatExtras, Answer",
    "Run": "RunExtras, Answer",
    "SingleRun": "Run",
    "Workflow": "WorkflowSummary",
    "WorkflowPut": "Workflow",
    "WorkflowRun": "RunExtras, Answer",
}
"""Answers that have all of another one's fields, or more than fields."""
NOT_METHODS = {"getDocument"}
NOT_REPEATABLE = {"skipNext"}
"""Done twice it has another effect than once, and it takes no idempotency key."""
LEFT_OUT_PARAMETERS = {"x-correlation-id"}

Schema = Mapping[str, Any]


class Document:
    """The API's document, and what its parts are in Python."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.paths: Mapping[str, Any] = document["paths"]
        self.schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self.parameters: Mapping[str, Any] = document["components"]["parameters"]

    def named(self, schema: Schema) -> str | None:
        """The name of the schema that is referred to."""
        return schema["$ref"].rpartition("/")[2] if "$ref" in schema else None

    def annotation(self, schema: Schema, *, sent: bool) -> str:
        """The type of a value that is sent, or answered."""
        if (name := self.named(schema)) is not None:
            whole = self.schemas[name]
            return name if "properties" in whole else self.annotation(whole, sent=sent)
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return self._union(options, sent=sent)
        if "const" in schema or "enum" in schema:
            values = [value for value in schema.get("enum", [schema.get("const")]) if value is not None]
            found = f"Literal[{', '.join(map(repr, values))}]" if sent else "str"
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
            return f"Sequence[{inner}]" if sent else f"tuple[{inner}, ...]"
        if kind == "object":
            values = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
            inner = self.annotation(values, sent=sent) if isinstance(values, dict) else "Any"
            return f"Mapping[str, {inner}]"
        if kind == "string" and (schema.get("format") == "date-time" or _is_instant(schema)):
            return "datetime | str" if sent else "datetime"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind]

    def operations(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Method, path and operation of each route, in the document's order."""
        for path, methods in self.paths.items():
            for method, operation in methods.items():
                if method in {"get", "put", "post", "patch", "delete"} and operation["operationId"] not in NOT_METHODS:
                    yield method.upper(), path, operation

    def reachable(self, *roots: str) -> list[str]:
        """The schemas with properties that these need, sorted."""
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
        """The schema of an operation's successful answer."""
        for status, response in operation["responses"].items():
            if status.startswith("2") and "content" in response:
                return self.named(response["content"]["application/json"]["schema"])
        return None

    def body(self, operation: Mapping[str, Any]) -> str | None:
        """The schema of an operation's body."""
        content = operation.get("requestBody", {}).get("content", {})
        return self.named(content["application/json"]["schema"]) if content else None


def _query_type(kind: Schema, about: str) -> str | None:
    """The type of a parameter whose schema, made for text, does not say it."""
    if kind.get("enum") == ["true", "false"]:
        return "bool"
    return "datetime | str" if "ISO-8601" in about else None


def _is_instant(schema: Schema) -> bool:
    return str(schema.get("description", "")).startswith("ISO-8601")


def snake(name: str) -> str:
    """`listJobs` as Python spells it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def python_name(name: str) -> str:
    """A field's name where Python has no such name: `from_`, `if_match`."""
    plain = name.lower().replace("-", "_")
    return f"{plain}_" if iskeyword(plain) else plain


def docstring(text: str, depth: int = 4) -> str:
    """A docstring of this text, wrapped and indented."""
    wrapped = "\n\n".join(fill(part, 116 - depth) for part in text.strip().split("\n\n"))
    end = '\n"""' if "\n" in wrapped or len(wrapped) > 108 - depth else '"""'
    return indent(f'"""{wrapped}{end}', " " * depth)


def models(document: Document) -> str:
    """The module of the answers."""
    names = document.reachable(*filter(None, (document.answer(operation) for *_, operation in document.operations())))
    parts = []
    for name in sorted(names, key=lambda name: (_depth(name), name)):
        schema = document.schemas[name]
        if name.endswith("Page"):
            continue
        base = BASES.get(name, "Answer")
        inherited = document.schemas[base]["properties"] if base in document.schemas else {}
        lines = [f"@dataclass(frozen=True, kw_only=True)\nclass {name}({base}):"]
        lines.append(docstring(schema.get("description", name)))
        for field, kind in schema["properties"].items():
            if field in inherited:
                continue
            annotation = document.annotation(kind, sent=False)
            if field not in schema.get("required", ()) and annotation != "Any":
                annotation = f"{annotation.removesuffix(' | None')} | None"
            lines.append(f"    {python_name(field)}: {annotation}")
            if told := kind.get("description"):
                lines.append(docstring(told))
        parts.append("\n".join(lines))
    head = (
        '"""What the API answers. Written by scripts/client_code.py from openapi.json (`make openapi`)."""\n\n'
        "from __future__ import annotations\n\nfrom collections.abc import Mapping\n"
        "from dataclasses import dataclass\nfrom datetime import datetime\nfrom typing import Any\n\n"
        "from duecourse.client.reading import Answer, HeartbeatExtras, RunExtras\n"
    )
    return "\n\n".join((head, *parts))


def _depth(name: str) -> int:
    return 1 + _depth(BASES[name]) if name in BASES else 0


def bodies(document: Document) -> str:
    """The module of what is sent."""
    parts = []
    for name in document.reachable(*DOCUMENTS):
        schema = document.schemas[name]
        lines = [f"class {name}(TypedDict):", docstring(schema.get("description", name)), ""]
        for field, kind in schema["properties"].items():
            annotation = document.annotation(kind, sent=True)
            required = field in schema.get("required", ())
            lines.append(f"    {field}: {annotation if required else f'NotRequired[{annotation}]'}")
        parts.append("\n".join(lines))
    head = (
        '"""What the API is sent. Written by scripts/client_code.py from openapi.json (`make openapi`)."""\n\n'
        "from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n"
        "from datetime import datetime\nfrom typing import Any, Literal, NotRequired, TypedDict\n"
    )
    return "\n\n".join((head, *parts))


def methods(document: Document, *, asynchronous: bool) -> str:
    """The module of the methods."""
    prefix = "Async" if asynchronous else ""
    called = [_method(document, *each, asynchronous=asynchronous) for each in document.operations()]
    code = "\n\n".join(called)
    answers = sorted(set(re.findall(r"models\.(\w+)", code)))
    sent = sorted(set(re.findall(r"bodies\.(\w+)", code)))
    code = re.sub(r"\b(models|bodies)\.", "", code)
    return (
        '"""Every operation of the API. Written by scripts/client_code.py from openapi.json (`make openapi`)."""\n\n'
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
        python = argument(name, kind, required=place == "path", sent=_query_type(kind, about), about=about)
        if place == "path":
            path = path.replace(f"{{{name}}}", f"{{{python}}}")
        elif place == "query":
            query.append(f'"{name}": {python}')
        elif name.lower() == "idempotency-key":
            more.append("idempotency_key=idempotency_key or True")
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
    if operation["operationId"] in NOT_REPEATABLE:
        more.append("repeatable=False")
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


def written() -> dict[str, str]:
    """The files' contents by name, formatted as the repository's code is."""
    document = Document(json.loads((ROOT / "openapi.json").read_text(encoding="utf-8")))
    made = (
        models(document),
        bodies(document),
        methods(document, asynchronous=False),
        methods(document, asynchronous=True),
    )
    return {name: _formatted(code, name) for name, code in zip(FILES, made, strict=True)}


def _formatted(code: str, name: str) -> str:
    ruff, file = str(Path(sys.executable).with_name("ruff")), ("--stdin-filename", str(CLIENT / name), "-")
    fixed = [ruff, "check", "--quiet", "--fix", "--select", "F401,I", *file]
    code = subprocess.run(fixed, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    shaped = [ruff, "format", "--quiet", *file]
    return subprocess.run(shaped, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout


if __name__ == "__main__":
    for name, code in written().items():
        (CLIENT / name).write_text(code, encoding="utf-8")
