"""The name of the program that a shell command runs, for the ids of imported commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

UNNAMED = "cron"
"""The name of a command without a program."""

MAX_CHARACTERS = 1_000
"""The length of a command that is searched. A line of a crontab is not longer."""

MAX_DEPTH = 3
"""The maximum depth of commands in the arguments of other commands: `bash -c "su - app -c poll"`."""

_OPERATORS = re.compile(r"[;&|()\n]+|[{}]")
_RESERVED = frozenset(["if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "time", "exec", "command"])
"""The words that precede a command."""
_NO_PROGRAM = frozenset(
    re.findall(
        r"\S+",
        "fi done esac case in for select function cd pushd test [ [[ true false : . source export unset set "
        "umask ulimit trap wait read return exit eval local readonly declare alias shopt shift",
    )
)
"""The words that begin a command without a program. It prepares other commands, or decides whether they run."""
_MINOR = frozenset(["echo", "printf", "sleep", "date", "mkdir", "cat"])
"""Programs that name a command only if it has no other program."""
_WRAPPERS: Mapping[str, tuple[str, int]] = {
    "sudo": ("ugpChrtTDR", 0),
    "doas": ("uC", 0),
    "su": ("sgGw", 0),
    "runuser": ("ugGs", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "chrt": ("TPD", 1),
    "taskset": ("", 1),
    "env": ("uSC", 0),
    "flock": ("wE", 1),
    "timeout": ("ks", 1),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("ioe", 0),
    "chronic": ("", 0),
    "cronic": ("", 0),
    "systemd-cat": ("tp", 0),
    "systemd-run": ("pu", 0),
    "xargs": ("InPLd", 0),
}
"""The programs that run the program in their arguments: their short options with a value, and the number of their
arguments before the program.
"""
_SHELLS = frozenset(["sh", "bash", "dash", "ash", "zsh", "ksh"])
_INTERPRETERS = re.compile(r"(?:run-parts|python|perl|ruby|php|node|java|lua|Rscript|pwsh)[0-9.]*")
_EXTENSION = re.compile(r"(?<=.)\.(?:sh|bash|zsh|ksh|py|pl|rb|php|js|mjs|ts|jar|lua|exe|R)\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_REDIRECTION = re.compile(r"\d*(?:[<>]+&?|>\|)")
_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")


def program_of(command: str) -> str:
    """Return the name of the first program that a command runs, without folder and extension. Tests, changes of the
    folder, assignments, and programs that run another program are passed.
    """
    minor = None
    for name in _programs(command[:MAX_CHARACTERS], 0):
        if name not in _MINOR:
            return name
        minor = minor or name
    return minor or UNNAMED


def is_shell_word(word: str) -> bool:
    """Return whether a word has a meaning in a command that is not that of a program with its own work."""
    return word in _RESERVED or word in _NO_PROGRAM or word in _WRAPPERS or word in _SHELLS


def is_program_word(word: str) -> bool:
    """Return whether a word begins a command, rather than being an argument of another one."""
    return is_shell_word(word) or _INTERPRETERS.fullmatch(word) is not None


def _programs(command: str, depth: int) -> Iterator[str]:
    """Yield the names of the programs of a command."""
    while (shorter := _SUBSTITUTION.sub("_", command)) != command:
        command = shorter
    for words in _simple_commands(command):
        yield from _program(words, depth)


def _simple_commands(command: str) -> Iterator[list[str]]:
    """Yield the words of each simple command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r\v\f"
    lexer.commenters = ""
    words: list[str] = []
    tokens = iter(_tokens(lexer))
    for token in tokens:
        if _REDIRECTION.fullmatch(token):
            if words and words[-1].isdigit():
                words.pop()
            next(tokens, None)
        elif _OPERATORS.fullmatch(token):
            yield words
            words = []
        else:
            words.append(token)
    yield words


def _tokens(lexer: shlex.shlex) -> Iterator[str]:
    """Yield the tokens before the first one that is not closed."""
    try:
        yield from lexer
    except ValueError:
        return


def _program(words: Sequence[str], depth: int) -> Iterator[str]:
    """Yield the name of the program of one simple command; if an argument is a command, the names of its programs."""
    at = 0
    while at < len(words):
        word = words[at]
        name = _EXTENSION.sub("", word.rsplit("/", 1)[-1])
        at += 1
        if word in _RESERVED:
            if word == "command" and at < len(words) and words[at].startswith("-"):
                return  # command -v: a test
        elif word in _NO_PROGRAM:
            return
        elif name in _WRAPPERS:
            values, arguments = _WRAPPERS[name]
            at, inner = _after_options(words, at, values)
            at += arguments
            if name in ("su", "runuser", "flock") and inner is None:
                _, inner = _after_options(words, at + (name != "flock"), values)
            if inner is not None:
                if depth < MAX_DEPTH:
                    yield from _programs(inner, depth + 1)
                return
        elif name in _SHELLS:
            at, inner = _after_options(words, at, "oO")
            if inner is not None:
                if depth < MAX_DEPTH:
                    yield from _programs(inner, depth + 1)
                return
        elif _INTERPRETERS.fullmatch(name):
            script = _script(words[at:])
            yield script or name
            return
        elif not _ASSIGNMENT.match(word) and re.search(r"[^\W_]", name):
            yield name
            return


def _after_options(words: Sequence[str], at: int, values: str) -> tuple[int, str | None]:
    """Return the index after options, and the command in `-c COMMAND`. `values`: the short options with a value."""
    while at < len(words) and words[at].startswith("-"):
        option = words[at]
        at += 1
        if option == "--":
            break
        if not option.startswith("--") and option.endswith("c") and "c" not in values and at < len(words):
            return at + 1, words[at]
        if option == "--command" and at < len(words):
            return at + 1, words[at]
        if len(option) == 2 and option[1] in values:
            at += 1
    return at, None


def _script(words: Sequence[str]) -> str | None:
    """Return the name of the script or module that an interpreter runs."""
    for at, word in enumerate(words):
        if word in ("-c", "-e", "-r"):
            return None
        if word in ("-m", "-jar") and at + 1 < len(words):
            return _EXTENSION.sub("", words[at + 1].rsplit("/", 1)[-1]) or None
        if not word.startswith("-"):
            return _EXTENSION.sub("", word.rsplit("/", 1)[-1]) or None
    return None
