"""`python -m scripts.site_pages FOLDER`: write the configuration and the pages of the documentation site.

The pages are the Markdown files under docs/ and in the root of the repository, and reference pages generated from the
code.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from duecourse.api.openapi.served import FILE

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "docs" / "zensical.toml"
ROOT_PAGES = {"README.md": "index.md"} | {
    name: name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}
MONEY = re.compile(r"(^( *)(`{3,}).*?^\2\3$|`[^`\n]+`)|<!-- /?n(?::[\w.]+)? -->|\$(?=[\d<])", re.DOTALL | re.MULTILINE)
"""Matches code, which is not changed, marks of published numbers, and dollar signs, which the site would read as
mathematics.
"""

UNSEARCHED = ("CHANGELOG.md",)
"""Pages that the site's search omits, since they describe what is documented elsewhere."""

LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def pages() -> Mapping[str, str]:
    """Return the text of every page by its path in the site."""
    found = {inside: (ROOT / name, inside) for name, inside in ROOT_PAGES.items()}
    docs = ROOT / "docs"
    found |= {(inside := str(path.relative_to(docs))): (path, inside) for path in sorted(docs.rglob("*.md"))}
    sources = {path.resolve(): inside for path, inside in found.values()}
    sources |= {path.resolve(): inside for inside, path in pictures().items()}
    made = {f"reference/{name}.md": make() for name, make in MADE.items()}
    return {inside: _linked(path, inside, sources) for path, inside in found.values()} | made


def pictures() -> Mapping[str, Path]:
    """Return the pictures and the style sheet by their path in the site."""
    docs = ROOT / "docs"
    return {str(path.relative_to(docs)): path for path in sorted((*docs.rglob("*.png"), docs / "site.css"))}


def _linked(page: Path, inside: str, sources: Mapping[Path, str]) -> str:
    """Return a page with links to the pages of the site. A link to code becomes the name of the code."""

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = (page.parent / target).resolve()
        there = sources.get(path) or sources.get(path / "README.md")
        if there is None:
            return f"`{text.strip('`')}`"
        return f"[{text}]({os.path.relpath(there, Path(inside).parent)}{anchor})"

    text = MONEY.sub(lambda found: found[1] or ("&#36;" if found[0] == "$" else ""), page.read_text(encoding="utf-8"))
    # The site would load mermaid from another host, so the page shows the source of the diagram.
    return LINK.sub(link, text.replace("```mermaid", "```text"))


def write(folder: Path) -> None:
    """Write the configuration into a folder, and the pages with their pictures into its folder `pages`."""
    inside = folder / "pages"
    shutil.rmtree(inside, ignore_errors=True)
    for name, text in pages().items():
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        head = "---\nsearch:\n  exclude: true\n---\n" if name in UNSEARCHED else ""
        (inside / name).write_text(head + text, encoding="utf-8")
    for name, path in pictures().items():
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, inside / name)
    shutil.copyfile(CONFIGURATION, folder / CONFIGURATION.name)


def _schemas() -> Mapping[str, Any]:
    document = json.loads(FILE.read_bytes())
    schemas: Mapping[str, Any] = document["components"]["schemas"]
    return schemas


def job() -> str:
    """Return the page with every field of a job: type, default and limits from the OpenAPI document."""
    schemas = _schemas()
    lines = ["# A job, field by field", "", "The fields of `POST /v1/jobs`. Unknown fields are rejected.", ""]
    parts = ["JobRequest", "Missed", "Retry", *sorted(name for name in schemas if name.endswith("Target"))]
    for name in parts:
        schema = schemas[name]
        title = {"JobRequest": "Job", "Missed": "missed", "Retry": "retry"}.get(name, f"target: {name}")
        lines += [f"## {title}", "", schema.get("description", ""), ""]
        lines += ["| field | kind | default | limits | |", "|---|---|---|---|---|"]
        for field, kind in schema["properties"].items():
            need = " (required)" if field in schema.get("required", ()) else ""
            cells = (f"`{field}`{need}", _kind(kind), _default(kind), _limits(kind), kind.get("description", ""))
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]) if value is not None)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(option) for option in options if option.get("type") != "null"))
    kind = schema.get("type", "any JSON")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _default(schema: Mapping[str, Any]) -> str:
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def _limits(schema: Mapping[str, Any]) -> str:
    names = {
        "minimum": "at least {}",
        "maximum": "at most {}",
        "minLength": "{} characters or more",
        "maxLength": "{} characters",
        "maxItems": "{} items",
        "maxProperties": "{} entries",
        "pattern": "`{}`",
    }
    return ", ".join(text.format(schema[name]) for name, text in names.items() if name in schema)


def commands() -> str:
    """Return the page with the `--help` text of every command."""
    from duecourse.cli.main import main

    lines = ["# Commands", "", "The output of `duecourse COMMAND --help`.", ""]
    for path, command in _commands(main, ()):
        context = click.Context(command, info_name=" ".join(("duecourse", *path)), max_content_width=100)
        lines += [f"## duecourse {' '.join(path)}", "", "```", command.get_help(context).rstrip(), "```", ""]
    return "\n".join(lines)


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


def settings() -> str:
    """Return the page with every setting of a stage: default and docstring."""
    from infra.settings.config import StageConfig

    source = inspect.getsource(StageConfig)
    lines = [
        "# Settings of a stage",
        "",
        "Set them in `settings/<stage>.json` or `infra/stages.py`. The defaults are those of `StageConfig`.",
        "",
    ]
    lines += ["| setting | default | |", "|---|---|---|"]
    pattern = re.compile(r'^    (\w+): [^\n=]+?(?: = ([^\n]+))?\n(?:    """(.*?)""")?', re.MULTILINE | re.DOTALL)
    for name, default, told in pattern.findall(source):
        text = re.sub(r"\s+", " ", told).replace("|", "\\|")
        lines.append(f"| `{name}` | {f'`{default}`' if default else 'needed'} | {text} |")
    return "\n".join([*lines, ""])


MADE: Mapping[str, Callable[[], str]] = {"job": job, "commands": commands, "settings": settings}


if __name__ == "__main__":
    write(Path(sys.argv[1]))
