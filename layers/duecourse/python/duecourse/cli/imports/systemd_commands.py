"""The command lines of systemd services (systemd.service) as commands of a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_ESCAPES |= {mark: mark for mark in "\\\"';"}
_HEXADECIMAL = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})")
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)\}", re.ASCII)
_WHOLE_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)


class NotExactError(ValueError):
    """The reason why a setting cannot be represented exactly."""


def commands_of_line(line: str) -> Iterator[str]:
    """Yield the shell commands of the value of ExecStart=. Raises NotExactError."""
    commands: list[list[str]] = [[]]
    for word, separator in _words(without_specifiers(line)):
        if separator:
            commands.append([])
        else:
            commands[-1].append(word)
    yield from (_command(words) for words in commands if words)


def _command(words: Sequence[str]) -> str:
    found = re.match(r"[-@:+!|]*", words[0])
    prefixes, program = (found[0] if found else ""), re.sub(r"^[-@:+!|]*", "", words[0])
    if unknown := set(prefixes) - {"-", ":"}:
        raise NotExactError(
            f"has the prefix {''.join(sorted(unknown))} before its program, which a shell does not know"
        )
    if not program:
        raise NotExactError("has no program")
    arguments = [shlex.quote(each) if ":" in prefixes else _argument(each) for each in words[1:]]
    command = " ".join((shlex.quote(program), *arguments))
    return f"{{ {command} || true; }}" if "-" in prefixes else command


def _argument(word: str) -> str:
    """Return a word of a command for a shell. `$NAME` as a whole word is split at white space, `${NAME}` is not."""
    if found := _WHOLE_VARIABLE.fullmatch(word):
        return f"${found[1]}"
    parts, at = [], 0
    for found in _VARIABLE.finditer(word):
        parts.append(shlex.quote(word[at : found.start()]) if found.start() > at else "")
        parts.append(f'"${{{found[1]}-}}"' if found[1] else "'$'")
        at = found.end()
    parts.append(shlex.quote(word[at:]) if at < len(word) or not word else "")
    return "".join(parts)


def splits(command: str) -> bool:
    """Return whether a command has a variable that the shell splits, and must not expand to names of files."""
    return re.search(r"(?<![\w'\"\\])\$[A-Za-z_]", command) is not None


def assignments_of(line: str) -> Iterator[tuple[str, str]]:
    """Yield the variables of the value of Environment=. Raises NotExactError."""
    for word, _ in _words(without_specifiers(line)):
        found = _ASSIGNMENT.fullmatch(word)
        if found is None:
            raise NotExactError(f"Environment={word} is not an assignment")
        yield found[1], found[2]


def without_specifiers(text: str) -> str:
    """Return a value in which `%%` is a percent sign. Raises NotExactError if it has another specifier."""
    if found := re.search(r"(?<!%)(?:%%)*%(?!%).?", text):
        raise NotExactError(f"has the specifier {found[0][-2:]}, which only systemd knows; write its value")
    return text.replace("%%", "%")


def _words(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a line, and whether each is the separator `;`. Raises NotExactError."""
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        start, word = at, ""
        quote = ""
        while at < len(line) and (quote or not line[at].isspace()):
            each = line[at]
            at += 1
            if each == "\\":
                text, at = _escaped(line, at)
                word += text
            elif quote:
                quote, word = ("", word) if each == quote else (quote, word + each)
            elif each in "\"'":
                quote = each
            else:
                word += each
        if quote:
            raise NotExactError("has a quotation mark that is not closed")
        yield word, line[start:at] == ";"


def _escaped(line: str, at: int) -> tuple[str, int]:
    """Return the character of an escape sequence, and the index after it. Raises NotExactError."""
    if at < len(line) and line[at] in _ESCAPES:
        return _ESCAPES[line[at]], at + 1
    if found := _HEXADECIMAL.match(line, at):
        code = int(found[4], 8) if found[4] else int(found[1] or found[2] or found[3], 16)
        if 0 < code < 128:
            return chr(code), found.end()
    raise NotExactError("has a backslash that is not the start of a known escape sequence")
