r"""Simple, safe templates: `report-{{week}}`. They contain only names: no expressions, no attributes, no nesting.

Values are inserted once and never read again as a template. A literal `{{` is written `\{{`, a literal `}}` is written
`\}}`. Where secrets are allowed, `{{secret:name}}` inserts one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from duecourse.domain.schedules.error import printable

TEMPLATE_NAMES = (
    "job_id",
    "run_id",
    "tenant",
    "scheduled_at",
    "due_at",
    "occurrence",
    "date",
    "week",
    "month",
    "attempt",
    "job_name",
)
"""The names that depend only on the run."""

IDEMPOTENCY_NAMES = tuple(name for name in TEMPLATE_NAMES if name not in ("attempt", "job_name"))
"""The names in an idempotency key. The key must be the same for all attempts of a run, but an edit may change the name
of its job between two attempts.
"""

CALL_NAMES = (*TEMPLATE_NAMES, "idempotency_key")
"""The names in payload, headers, parameters, group and subject."""

CALLBACK_NAMES = (*CALL_NAMES, "callback_token")
"""The names for a job whose runs wait for their callback."""

_HANDED_DOWN = ("upstream.", "workflow.")
_HAND_DOWN = (
    "results of upstream steps can be used only in payloads of jobs without a schedule, and only in runs of their "
    "workflow, as upstream.STEP.result.PATH, upstream.STEP.state, .run_id, .code or .error, and workflow.payload.PATH"
)
_SECRET = "secret:"
SECRET_NAME = r"[A-Za-z0-9_.-]{1,64}"
"""The pattern for names of secrets."""

_SECRET_NAME = re.compile(SECRET_NAME)
_BRACES = re.compile(r"\\\{\{|\\\}\}|\{\{(?P<inside>[^{}]*)\}\}|\{\{|\}\}")
_PAIR = re.compile(r"\{\{|\}\}")


class TemplateError(ValueError):
    """A template that cannot be rendered. `check_template` reports the same problems. `code` is the code of the run's
    failure.
    """

    code = "bad_template"


def check_template(text: str, allowed: tuple[str, ...] = TEMPLATE_NAMES, *, secrets: bool = False) -> tuple[str, ...]:
    """Return the problems of a template, one sentence each. `secrets`: whether the template may contain secrets."""
    problems: dict[str, None] = {}  # each problem once, in order
    for match in _BRACES.finditer(text):
        if problem := _problem(match, allowed, secrets=secrets):
            problems[problem] = None
    return tuple(problems)


def check_document(
    value: Any, allowed: tuple[str, ...], known: Callable[[str], str] = str
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the problem of each invalid template among the strings of a JSON value, in the order of the
    document.

    A string with several problems is yielded once for each problem. `known` replaces parts of a string that are checked
    elsewhere with plain text.
    """
    for path, text in texts_in(value):
        for problem in check_template(known(text), allowed):
            yield path, problem


def texts_in(value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the text of each string of a JSON value, in the order of the document. Keys of objects and
    empty strings are omitted.
    """
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:  # not recursive: a client may nest the value arbitrarily deep
        path, here = pending.pop()
        match here:
            case str():
                yield path, here
            case dict():
                pending.extend(reversed([((*path, key), inside) for key, inside in here.items() if _may_hold(inside)]))
            case list() | tuple():
                pending.extend(reversed([((*path, at), inside) for at, inside in enumerate(here) if _may_hold(inside)]))


def _may_hold(value: Any) -> bool:
    """Return whether a value is, or contains, a non-empty string. Most values of a large payload do not."""
    return bool(value) and isinstance(value, str | dict | list | tuple)


def secret_names(text: str) -> tuple[str, ...]:
    """Return the secrets that a template contains, each once, in order."""
    names = (match["inside"].strip() for match in _BRACES.finditer(text) if match["inside"] is not None)
    return tuple(dict.fromkeys(secret for name in names if (secret := _secret_of(name)) is not None))


def render_template(text: str, values: Mapping[str, str], secrets: Mapping[str, str] | None = None) -> str:
    """Return the text with every placeholder replaced by its value or secret.

    Raises TemplateError for a name without a value and for stray braces. The error message contains only names, no
    values.
    """
    if "{{" not in text and "}}" not in text:
        return text
    known = secrets or {}
    if problems := check_template(text, tuple(values), secrets=bool(known)):
        raise TemplateError("; ".join(problems))
    if missing := [name for name in secret_names(text) if name not in known]:
        raise TemplateError("; ".join(f"there is no secret {name}" for name in missing))
    return _BRACES.sub(lambda match: _rendered(match, values, known), text)


def literal(value: Any) -> Any:
    r"""Return a JSON value in which no string is a template: `{{` becomes `\{{`. Rendering returns the same value."""
    match value:
        case str():
            return _PAIR.sub(r"\\\g<0>", value)
        case dict():
            return {name: literal(inside) for name, inside in value.items()}
        case list() | tuple():
            return [literal(inside) for inside in value]
        case _:
            return value


def rendered_size(text: str, sizes: Mapping[str, int]) -> int:
    """Return the size of the rendered text without rendering it. A character of the template itself counts as 1.

    `sizes` are the sizes of values by name, and of known secrets (`secret:name`). Unknown names count as 0.
    """
    placeholders = (match for match in _BRACES.finditer(text) if match["inside"] is not None)
    return len(text) + sum(sizes.get(match["inside"].strip(), 0) - len(match[0]) for match in placeholders)


def _rendered(match: re.Match[str], values: Mapping[str, str], secrets: Mapping[str, str]) -> str:
    if match["inside"] is None:
        return match[0].removeprefix("\\")
    name = match["inside"].strip()
    secret = _secret_of(name)
    return values[name] if secret is None else secrets[secret]


def _secret_of(name: str) -> str | None:
    secret = name.removeprefix(_SECRET)
    return secret if secret != name and _SECRET_NAME.fullmatch(secret) else None


def _problem(match: re.Match[str], allowed: tuple[str, ...], *, secrets: bool) -> str | None:
    inside, braces = match["inside"], match[0]
    if inside is None:
        if braces.startswith("\\"):
            return None
        place = f"{braces} at character {match.start() + 1} has no matching pair"
        return f"{place}; write a placeholder as {{{{name}}}} and a literal {braces} as \\{braces}"
    name = inside.strip()
    if name in allowed:
        return None
    if name.startswith(_SECRET):
        return _secret_problem(name, secrets=secrets)
    return _unknown(name, allowed)


def _secret_problem(name: str, *, secrets: bool) -> str | None:
    if not secrets:
        return f"{{{{{_shown(name)}}}}} is not allowed here; secrets are allowed only in header values of HTTP targets"
    if _secret_of(name) is None:
        return f"{{{{{_shown(name)}}}}} is not a valid secret; its name must be 1 to 64 letters, digits, _ . and -"
    return None


def _unknown(name: str, allowed: tuple[str, ...]) -> str:
    known = ", ".join(allowed)
    if name.startswith(_HANDED_DOWN):
        return f"{{{{{_shown(name)}}}}} is not allowed here; {_HAND_DOWN}"
    if not name:
        return f"{{{{}}}} is empty; known names: {known}"
    if name in CALLBACK_NAMES:
        return f"{{{{{name}}}}} is not allowed here; known names: {known}"
    return f"{{{{{_shown(name)}}}}} is unknown; known names: {known}"


def _shown(name: str) -> str:
    return printable(name if len(name) <= 40 else f"{name[:37]}...")
