"""Results of upstream steps: `{{upstream.extract.result.body.rows}}` in a step's payload.

The payload of a step with `for_each` can also use the item of its run: `{{item.id}}` and `{{index}}`.

Placeholders contain only names, and inserted values are never read as templates. A string that consists of one
placeholder becomes the JSON value. In other strings the value is inserted as text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from duecourse.domain.ids import ID_PATTERN
from duecourse.domain.runs.states import Run, Succeeded
from duecourse.domain.targets.template import TemplateError, literal, texts_in
from duecourse.domain.workflows.graph import MAX_ITEMS, ForEach, Graph

MAX_STEPS = 8
"""The maximum number of keys and indexes in a path."""

MAX_UPSTREAMS = 20
"""The maximum number of steps that one payload refers to."""

MAX_TAKEN_BYTES = 256 * 1024
"""The maximum size of all values that one payload uses, as JSON: the maximum body of a call
(`rendering.MAX_BODY_BYTES`). One value may be used often, and workers share their memory among tenants.
"""

FIELDS = ("state", "run_id", "code", "error")
_STEP = r"[A-Za-z0-9_-]{1,64}"
_NAME = re.compile(
    rf"(?:upstream\.(?P<job>{ID_PATTERN})\.(?:(?P<field>{'|'.join(FIELDS)})|result)|workflow\.payload|(?P<of>item|index))"
    rf"(?P<path>(?:\.{_STEP}){{0,{MAX_STEPS}}})"
)
# The text after `{{` excludes braces, so that each character is read only once. A string has up to 200 KB.
_PLACEHOLDER = re.compile(r"(?<![\\{])\{\{\s*(?P<name>(?:(?:upstream|workflow|item)\.[^{}]*|(?:item|index)\s*))\}\}")


class UpstreamResultError(TemplateError):
    """A value of another step that a payload uses does not exist."""

    code = "upstream_result"


class ItemsError(TemplateError):
    """The value of `for_each` is not a list that can be used."""

    code = "for_each"


@dataclass(frozen=True, slots=True)
class Taken:
    """The value to which one placeholder refers.

    It belongs to the step `job`: it is the `field` of the step's record, or the step's result if `field` is None. If
    `job` is None, it belongs to the payload of the workflow's run, or to the item of the step's run: then `field` is
    `item` or `index`. `path` is the path inside this value.
    """

    job: str | None
    field: str | None
    path: tuple[str, ...]

    @property
    def of_item(self) -> bool:
        """Whether the value belongs to an item."""
        return self.job is None and self.field is not None


def read_name(name: str) -> Taken | None:
    """Return the value to which a placeholder's name refers, or None for an invalid name."""
    match = _NAME.fullmatch(name)
    if match is None or ((match["field"] or match["of"] == "index") and match["path"]):
        return None
    return Taken(match["job"], match["field"] or match["of"], tuple(match["path"].split(".")[1:]))


def taken_by(payload: Any) -> list[tuple[tuple[str | int, ...], str, Taken | None]]:
    """Return every placeholder in a payload that refers to its workflow: the path, the name, and the value that it
    refers to.
    """
    found = ((path, _name(match)) for path, text in texts_in(payload) for match in _PLACEHOLDER.finditer(text))
    return [(path, name, read_name(name)) for path, name in found]


def blanked(text: str) -> str:
    """Return the text with the placeholders for values of its workflow replaced by plain characters. The rest may be a
    normal template.
    """
    return _PLACEHOLDER.sub(lambda match: match[0] if read_name(_name(match)) is None else "-" * len(match[0]), text)


def result_faults(payload: Any, step: str, graph: Graph) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Return the faults of the placeholders in a step's payload: the path and the reason."""
    before, named, has_items = graph.before(graph.numbers[step]), set(), _for_each(graph, step) is not None
    for path, name, taken in taken_by(payload):
        if taken is None:
            forms = "upstream.STEP.result.PATH, upstream.STEP.state, .run_id, .code or .error, workflow.payload.PATH"
            forms += ", item.PATH, index" if has_items else ""
            yield path, f"{{{{{name[:40]}}}}} is not valid; use one of {forms}"
        elif taken.of_item and not has_items:
            yield path, f"{{{{{name[:40]}}}}} is only known in a step with for_each; add for_each to {step}"
        elif taken.job is not None and not before >> graph.numbers.get(taken.job, len(graph.steps)) & 1:
            detail = f"upstream.{taken.job} is not an upstream step of {step}; name a step that must end before it"
            yield path, detail
        elif taken.job is not None:
            named.add(taken.job)
    if len(named) > MAX_UPSTREAMS:
        yield (), f"uses the results of {len(named)} steps; at most {MAX_UPSTREAMS} are allowed"


def _for_each(graph: Graph, step: str) -> ForEach | None:
    return graph.steps[graph.numbers[step]].for_each


def list_faults(step: str, graph: Graph) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Return the faults of the placeholder for the list of a step with `for_each`: the path in it, and the reason."""
    each = _for_each(graph, step)
    if each is None:
        return
    taken = _list_name(each)
    if taken is None or taken.of_item or (taken.job is not None and taken.field is not None):
        yield (), "must be one placeholder for a list: {{upstream.STEP.result.PATH}} or {{workflow.payload.PATH}}"
        return
    yield from result_faults(each.items, step, graph)


def _list_name(each: ForEach) -> Taken | None:
    whole = _PLACEHOLDER.fullmatch(each.items.strip())
    return None if whole is None else read_name(_name(whole))


@dataclass(frozen=True, slots=True)
class Item:
    """The item of a step's run: its value (any JSON), and its index in the list."""

    value: Any
    index: int


@dataclass(frozen=True, slots=True)
class Filled:
    """A payload in which each string that is a single placeholder is replaced by its value, ready for normal rendering.
    `texts` are the values of all placeholders by name, for placeholders within other text.
    """

    payload: Any
    texts: Mapping[str, str]


def filled(
    payload: Any,
    records: Mapping[str, Run],
    workflow_payload: Callable[[], Any],
    stored_result: Callable[[str], Any],
    item: Item | None = None,
) -> Filled:
    """Look up the values that a payload uses. `records` are the records of the steps that it refers to.
    `stored_result` returns the large result with a key in the store of results; it is only called for such results.
    `item` is the item of the step's run.

    Raises UpstreamResultError for missing values, and before any replacement if all values together exceed
    MAX_TAKEN_BYTES.
    """
    values, texts = _values(payload, records, workflow_payload, stored_result, item)
    return Filled(_filled(payload, values), texts)


def resolved(
    payload: Any,
    records: Mapping[str, Run],
    workflow_payload: Callable[[], Any],
    stored_result: Callable[[str], Any],
) -> Any:
    """Return the payload with all values that it uses, for the arguments of `filled`: the payload of a workflow that is
    a step. It is not rendered. Raises UpstreamResultError.
    """
    values, texts = _values(payload, records, workflow_payload, stored_result, None)

    def text(value: str) -> Any:
        whole = _PLACEHOLDER.fullmatch(value.strip())
        return _PLACEHOLDER.sub(lambda match: texts[_name(match)], value) if whole is None else values[_name(whole)]

    return _mapped(payload, text)


def _values(
    payload: Any,
    records: Mapping[str, Run],
    workflow_payload: Callable[[], Any],
    stored_result: Callable[[str], Any],
    item: Item | None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values that a payload uses, by name, and their texts."""
    values, texts, size = dict[str, Any](), dict[str, str](), 0
    for name, times in Counter(name for _, name, _ in taken_by(payload)).items():
        value = values[name] = _value(name, records, workflow_payload, stored_result, item)
        texts[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        size += times * len(texts[name].encode(errors="replace"))
        if size > MAX_TAKEN_BYTES:
            raise UpstreamResultError(
                f"uses more than {MAX_TAKEN_BYTES} bytes of upstream results and workflow payload; use smaller results"
            )
    return values, texts


def listed(
    each: ForEach,
    records: Mapping[str, Run],
    workflow_payload: Callable[[], Any],
    stored_result: Callable[[str], Any],
) -> tuple[Any, ...]:
    """Return the list of a step with `for_each`, for the arguments of `filled`. Raises UpstreamResultError if it is
    missing, and ItemsError if it is not a list or too large.
    """
    found = _value(each.items.strip()[2:-2].strip(), records, workflow_payload, stored_result, None)
    if not isinstance(found, list):
        kind = _KINDS.get(type(found), "a number")
        raise ItemsError(f"for_each needs a list, but {each.items.strip()[:80]} is {kind}; return a list there")
    if len(found) > MAX_ITEMS:
        detail = (
            f"for_each has {len(found):,} items; at most {MAX_ITEMS:,} are allowed; pass on several values in an item"
        )
        raise ItemsError(detail)
    if len(json.dumps(found, ensure_ascii=False).encode(errors="replace")) > MAX_TAKEN_BYTES:
        raise ItemsError(f"the list of for_each has more than {MAX_TAKEN_BYTES} bytes; pass on references instead")
    return tuple(found)


_KINDS = {type(None): "null", str: "a text", dict: "an object", bool: "true or false"}


def _filled(payload: Any, values: Mapping[str, Any]) -> Any:
    def text(value: str) -> Any:
        whole = _PLACEHOLDER.fullmatch(value.strip())
        return value if whole is None else literal(values[_name(whole)])

    return _mapped(payload, text)


def _mapped(payload: Any, text: Callable[[str], Any]) -> Any:
    match payload:
        case str():
            return text(payload)
        case dict():
            return {key: _mapped(value, text) for key, value in payload.items()}
        case list() | tuple():
            return [_mapped(value, text) for value in payload]
        case _:
            return payload


def _name(match: re.Match[str]) -> str:
    return match["name"].strip()


def _value(
    name: str,
    records: Mapping[str, Run],
    workflow_payload: Callable[[], Any],
    stored_result: Callable[[str], Any],
    item: Item | None,
) -> Any:
    taken = read_name(name)
    if taken is None:
        raise UpstreamResultError(f"{{{{{name[:40]}}}}} is not a known placeholder")
    if taken.of_item:
        if item is None:
            raise UpstreamResultError(f"{{{{{name[:40]}}}}} is only known in the run of an item")
        return item.index if taken.field == "index" else _inside(item.value, taken.path, name)
    if taken.job is None:
        return _inside(workflow_payload(), taken.path, name)
    run = records.get(taken.job)
    if taken.field is not None:
        return None if run is None else _fields(run)[taken.field]
    if not isinstance(run, Succeeded):
        return None
    if run.result_key is not None:
        return _inside(stored_result(run.result_key), taken.path, name)
    if run.result_bytes is not None and run.result_location is None:
        # Only its beginning is in the record, which must not be passed on as the result.
        raise UpstreamResultError(
            f"the result of {taken.job} could not be stored ({run.result_bytes} bytes), so other steps cannot use it; "
            f"rerun {taken.job}"
        )
    if run.result_bytes is not None and run.result is None:
        raise UpstreamResultError(
            f"the result of {taken.job} ({run.result_bytes} bytes) is only in the bucket of its `results`, which other "
            f"steps do not read; return at most 2 KB, or remove `results` from {taken.job}"
        )
    return _inside(run.result, taken.path, name)


def _fields(run: Run) -> dict[str, str | None]:
    return {"state": run.state.value, "run_id": run.run_id, "code": run.code, "error": run.error}


def _inside(value: Any, path: tuple[str, ...], name: str) -> Any:
    for step in path:
        match value:
            case dict() if step in value:
                value = value[step]
            case list() if step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            case _:
                raise UpstreamResultError(f'{{{{{name[:80]}}}}}: the value has no field or index "{step}"')
    return value
