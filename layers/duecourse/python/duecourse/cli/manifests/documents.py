"""The files that declare jobs and workflows.

A document is the body of `POST /v1/jobs` with its `id`. With `workflow: NAME` in place of the `id`, it is the body of
`PUT /v1/workflows/NAME`. `moved_from` has earlier ids of a job, which the job replaces. With `shadow: true`, a new job
is a shadow of another scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from duecourse.cli.manifests.json_text import read_json
from duecourse.cli.manifests.yaml_text import NotYamlError, Parsed, parse
from duecourse.cli.terminal import UsageError, plain, read_text, source_name

SUFFIXES = (".yaml", ".yml", ".json")
MANAGED_BY = "managed-by="
"""The prefix of an owner's tag."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A job or a workflow in a file: the body of its PUT, and its place. The job replaces the job with the first of
    the ids `moved_from` that exists. `shadow`: a new job is created as a shadow of another scheduler.
    """

    id: str
    body: Mapping[str, Any]
    is_workflow: bool = False
    moved_from: tuple[str, ...] = ()
    shadow: bool = False
    file: str = ""
    parsed: Parsed | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The kind of the manifest as a word."""
        return "workflow" if self.is_workflow else "job"

    def place(self, pointer: str = "") -> str:
        """Return the file and the line: `jobs/nightly.yaml:7`."""
        return self.file if self.parsed is None else f"{self.file}:{self.parsed.line(pointer)}"

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The jobs that the manifest writes, each with its pointer."""
        own = ("id" if not self.is_workflow else "workflow", self.id)
        return (own, *((f"jobs/{self.steps[job_id]}", job_id) for job_id in self.inline))

    @property
    def steps(self) -> dict[str, str]:
        """The names of a workflow's steps, by the ids of their jobs."""
        jobs = self.body.get("jobs") if self.is_workflow else None
        return {job_of(self.id, name, each): name for name, each in jobs.items()} if isinstance(jobs, Mapping) else {}

    @property
    def shared(self) -> frozenset[str]:
        """The ids of the jobs that are steps of a workflow and do not belong to it."""
        steps = {job_id: self.body["jobs"][name] for job_id, name in self.steps.items()}
        return frozenset(job_id for job_id, step in steps.items() if isinstance(step, Mapping) and step.get("shared"))

    @property
    def owned_steps(self) -> frozenset[str]:
        """The ids of the jobs that belong to a workflow."""
        return frozenset(self.steps) - self.shared

    @property
    def inline(self) -> dict[str, Mapping[str, Any]]:
        """The jobs that a workflow defines, by their ids."""
        jobs = {job_id: self.body["jobs"][name] for job_id, name in self.steps.items()}
        return {job_id: step["job"] for job_id, step in jobs.items() if _defines(step)}

    def owned(self, owner: str) -> Manifest:
        """Return the manifest with the tag of its owner on each job that it writes."""
        body = _tagged(self.body, owner)
        if self.inline:
            jobs = {
                name: each | {"job": _tagged(each["job"], owner)} if _defines(each) else each
                for name, each in body["jobs"].items()
            }
            body = {**body, "jobs": jobs}
        return replace(self, body=body)


def job_of(workflow: str, name: str, step: object) -> str:
    """Return the id of the job of a workflow's step. A job that is defined in the workflow belongs to it by default."""
    given = step.get("job_id") if isinstance(step, Mapping) else None
    return given if isinstance(given, str) else f"{workflow}--{name}" if _defines(step) else name


def _defines(step: object) -> bool:
    return isinstance(step, Mapping) and isinstance(step.get("job"), dict)


class FaultsError(Exception):
    """All faults of the files, one per line."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


def read_files(paths: Iterable[str], *, allow_empty: bool = False) -> list[Manifest]:
    """Return the manifests of these files and folders (`-`: standard input). Raises FaultsError, also for a folder
    without files unless it is allowed.
    """
    found: list[Manifest] = []
    faults: list[str] = []
    for file in dict.fromkeys(_files(paths, [] if allow_empty else faults)):
        try:
            found += manifests(read_text(file, may_be_empty=allow_empty), file)
        except FaultsError as error:
            faults += error.faults
        except UsageError as error:
            faults.append(error.message)
    if faults := [*faults, *_doubles(found)]:
        raise FaultsError(faults)
    return found


def read_object(path: str) -> dict[str, Any]:
    """Return the object in a file (`-`: standard input). A text that starts with a brace or a bracket is JSON, any
    other is YAML. Raises UsageError.
    """
    text = read_text(path)
    try:
        is_json = text.lstrip().startswith(("{", "["))
        match [read_json(text)] if is_json else [each.value for each in parse(text)]:
            case [dict(found)]:
                return found
    except NotYamlError as error:
        raise UsageError(plain(f"{path}:{error.line}: {error}")) from error
    except ValueError as error:
        raise UsageError(plain(f"{source_name(path)}: {error}")) from error
    raise UsageError(plain(f"{source_name(path)}: must have one object; create several jobs with duecourse apply -f"))


def manifests(text: str, file: str) -> list[Manifest]:
    """Return the manifests of one file. Raises FaultsError."""
    try:
        read = list(_json(text) if file.endswith(".json") else parse(text))
    except NotYamlError as error:
        raise FaultsError([f"{file}:{error.line}: {error}"]) from error
    except ValueError as error:
        raise FaultsError([f"{file}: {error}"]) from error
    made = [_manifest(each, file) for each in read]
    if faults := [each for each in made if isinstance(each, str)]:
        raise FaultsError(faults)
    return [each for each in made if isinstance(each, Manifest)]


def owner_tag(owner: str) -> str:
    """Return the tag that marks an owner's jobs."""
    return f"{MANAGED_BY}{owner}"


def _files(paths: Iterable[str], faults: list[str]) -> Iterator[str]:
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            yield path
            continue
        inside = sorted(each for each in Path(path).rglob("*") if each.suffix in SUFFIXES and each.is_file())
        shown = [each for each in inside if not any(part.startswith(".") for part in each.relative_to(path).parts)]
        if not shown:
            faults.append(f"{path}: contains no file with a name that ends in {', '.join(SUFFIXES)}")
        yield from map(str, shown)


def _json(text: str) -> Iterator[Parsed]:
    """Return one document, or a list of them. They are also parsed as YAML for the places of their parts. Some
    characters are valid only in JSON; the places are then unknown.
    """
    value = read_json(text)
    values = value if isinstance(value, list) else [value]
    try:
        (node,) = [each.node for each in parse(text.replace("\t", " "))]
    except ValueError:
        return map(Parsed, values)
    return map(Parsed, values, node.value if isinstance(value, list) else [node])


def _manifest(parsed: Parsed, file: str) -> Manifest | str:
    """Return the manifest, or its fault."""
    value = parsed.value
    place = f"{file}:{parsed.line()}"
    if not isinstance(value, dict):
        return f"{place}: is not a job; write its fields, such as id: nightly"
    shadow = value.get("shadow", False)
    if not isinstance(shadow, bool) or (shadow and ("id" not in value or "moved_from" in value)):
        return f"{file}:{parsed.line('shadow')}: shadow must be true or false; only a job without moved_from can be one"
    if "workflow" in value and "id" not in value:
        name, body = value["workflow"], {key: each for key, each in value.items() if key != "workflow"}
        if not isinstance(name, str):
            return f"{file}:{parsed.line('workflow')}: workflow must be the name of the workflow"
        return Manifest(name, body, is_workflow=True, file=file, parsed=parsed)
    if "jobs" in value:
        return f"{place}: the name of a workflow must be in the field workflow, not id"
    if not isinstance(value.get("id"), str):
        return f"{file}:{parsed.line('id')}: id must be the id of the job (or write workflow: NAME for a workflow)"
    moved = value.get("moved_from", [])
    former = [moved] if isinstance(moved, str) else moved
    if not isinstance(former, list) or not all(isinstance(each, str) for each in former):
        return f"{file}:{parsed.line('moved_from')}: moved_from must be the earlier id of the job, or a list of them"
    body = {key: each for key, each in value.items() if key not in ("moved_from", "shadow")}
    return Manifest(value["id"], body, moved_from=tuple(former), shadow=shadow, file=file, parsed=parsed)


def _doubles(found: Iterable[Manifest]) -> Iterator[str]:
    known: dict[str, str] = {}
    for manifest in found:
        for pointer, name in manifest.names:
            place = manifest.place(pointer)
            if name in known:
                yield f"{place}: {name} is also in {known[name]}; keep one of them"
            known.setdefault(name, place)
    moved: dict[str, str] = {}
    for manifest in found:
        place = manifest.place("moved_from")
        for former in manifest.moved_from:
            if former in known:
                yield f"{place}: {former} is also in {known[former]}; choose another id for one of the jobs"
            elif former in moved:
                yield f"{place}: {former} is also in moved_from in {moved[former]}; keep one of them"
            moved.setdefault(former, place)


def _tagged(body: Mapping[str, Any], owner: str) -> dict[str, Any]:
    tags = body.get("tags") or []
    tag = owner_tag(owner)
    more = {} if not isinstance(tags, list) or tag in tags else {"tags": [*tags, tag]}
    return {**body, **more}
