"""The folder of documents and the list of allowed commands that imports write. Other files and lines in them remain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path
from typing import Any

from duecourse.cli.manifests.yaml_text import to_yaml
from duecourse.cli.shell import read_allowed, written_allowed
from duecourse.cli.terminal import CliError, plain, read_text

_MARK = "# duecourse import "
"""The start of the first line of an imported file. The source follows."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, and the source that is imported: its kind, and its file. The source is unknown (None) if it is not a
    file, because another input can have the same name.
    """

    path: Path
    kind: str
    file: str | None
    marks: dict[str, str] = field(default_factory=dict)
    """The first line of each document in the folder, by id."""

    @classmethod
    def of(cls, path: Path, kind: str, file: str | None) -> Folder:
        """Read the folder. Raises CliError."""
        found = cls(path, kind, file)
        try:
            for each in path.glob("*.yaml"):
                with each.open("rb") as opened:
                    found.marks[each.stem] = opened.readline(1_000).decode(errors="replace").rstrip("\r\n")
        except OSError as error:
            raise CliError(plain(f"{error.filename}: {error.strerror}")) from error
        return found

    @property
    def mark(self) -> str:
        """The first line of the files of this source."""
        where = "-" if self.file is None else relpath(self.file, self.path)
        return plain(f"{_MARK}{self.kind} {where}")

    @property
    def foreign(self) -> set[str]:
        """The ids of the files that this source did not write."""
        return {name for name, mark in self.marks.items() if mark != self.mark}

    def left(self, written: Iterable[str]) -> list[str]:
        """Return the names of the files that no import has written, or that this source wrote for other ids than
        these.
        """
        others = self.marks.keys() - set(written)
        return sorted(
            f"{name}.yaml" for name in others if self.marks[name] == self.mark or not self.marks[name].startswith(_MARK)
        )

    def texts(self, documents: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
        """Return the text of each file. Raises CliError if a file exists that another source may have written."""
        found = {self.path / f"{each['id']}.yaml": f"{self.mark}\n{to_yaml([each])}" for each in documents}
        if self.file is None:
            differ = sorted(
                path.name for path, text in found.items() if path.stem in self.marks and _differs(path, text)
            )
            if differ:
                raise CliError(
                    plain(
                        f"{self.path} has a different {differ[0]}, and an input without a file name may be another "
                        "source than before, so nothing was written; save the input as a file and import that, or "
                        "delete the old file"
                    )
                )
        return found


def _differs(path: Path, text: str) -> bool:
    return path.read_bytes() != text.encode()


def appended(file: Path, commands: Iterable[str]) -> str:
    """Return the text of a list of allowed commands with further commands. Raises CliError."""
    before = read_text(str(file), may_be_empty=True) if file.exists() else ""
    try:
        known = read_allowed(before)
    except ValueError as error:
        raise CliError(plain(f"{file}: {error}; correct the line, so that commands can be added")) from error
    ended = before if not before or before.endswith("\n") else f"{before}\n"
    return ended + written_allowed([each for each in dict.fromkeys(commands) if each not in known])


def write(texts: Mapping[Path, str]) -> None:
    """Write files. Raises CliError."""
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    except OSError as error:
        raise CliError(plain(f"{error.filename}: {error.strerror}")) from error
