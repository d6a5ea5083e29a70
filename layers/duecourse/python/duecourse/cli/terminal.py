"""The output of commands: plain text, errors in one line and never as a traceback, and help with an example."""

from __future__ import annotations

import re
import textwrap
from typing import IO, Any

import click

_BREAKS = re.compile("\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
_BEYOND_ASCII = "\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_STEERING = re.compile(f"[\x00-\x1f{_BEYOND_ASCII}]")
"""Control characters, with which a target's response could control the terminal; characters that change the direction
of text; and surrogates, which cannot be printed.
"""

_UNPRINTABLE = re.compile(f"[{_BEYOND_ASCII}]")
"""The same characters, except the ones that JSON itself escapes."""


def plain(text: str) -> str:
    """Return the text as one line without control characters."""
    return _STEERING.sub("\ufffd", _BREAKS.sub(" ", text))


def escaped(document: str) -> str:
    """Return the JSON with escaped control characters."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def say(text: str) -> None:
    """Print a plain line to standard output."""
    click.echo(plain(text))


def fitted(text: str, indent: int) -> list[str]:
    """Return a plain text in lines that fit the terminal, broken between words; further lines begin in column `indent`,
    or further left if a word does not fit there. In a pipe, it is one line.
    """
    from rich.console import Console

    line, console = plain(text), Console()
    if not console.is_terminal:
        return [line]
    left = console.width - max(map(len, line.split()), default=0)
    margin = " " * max(0, min(indent, left))
    return textwrap.wrap(
        line, console.width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    ) or [line]


def read_text(path: str) -> str:
    """Return the content of a file with unchanged line ends; `-` is standard input. Raises UsageError."""
    try:
        with click.open_file(path, "rb") as file:
            found: str = file.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError(plain(f"{path} is not UTF-8; save it as UTF-8")) from error
    except OSError as error:
        raise UsageError(plain(f"{path}: {error.strerror or error}")) from error
    return found


class CliError(click.ClickException):
    """A failure with a remedy. It is shown as `duecourse: message` and sets the exit code."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error, without the word Error and without a traceback."""
        lines = f"duecourse: {self.format_message()}".split("\n")
        click.echo("\n".join(map(plain, lines)), file=file, err=file is None)


class UsageError(CliError):
    """A failure that the caller can correct; exit code 2."""

    exit_code = 2


class WaitTimeoutError(CliError):
    """A wait that ended before its run; exit code 124, like that of timeout(1)."""

    exit_code = 124


def usage_text(error: click.UsageError) -> str:
    """Return click's message in the form of the other errors, with the command that shows the help."""
    text = error.format_message().removesuffix(".")
    path = "duecourse" if error.ctx is None else error.ctx.command_path
    return plain(f"{text[:1].lower()}{text[1:]}; see {path} --help")


class _WithExample(click.Command):
    def __init__(self, *args: Any, example: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.example = example

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments. Raises UsageError, so that all errors have the same form."""
        try:
            return super().make_context(*args, **extra)
        except click.exceptions.NoArgsIsHelpError:
            raise  # prints the help
        except click.UsageError as error:
            raise UsageError(usage_text(error)) from error

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the whole first sentence of the help for the list of commands, which wraps it."""
        del limit
        return super().get_short_help_str(1000)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the example's lines after the options."""
        del ctx
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(_WithExample):
    """A command with an example."""


MEANT = {
    **dict.fromkeys(("update", "change", "modify", "put"), ("edit", "patch")),
    **dict.fromkeys(("show", "describe", "info", "get"), ("get", "show")),
    **dict.fromkeys(("remove", "rm"), ("delete",)),
    **dict.fromkeys(("stop", "disable"), ("pause", "cancel")),
    **dict.fromkeys(("enable", "unpause"), ("resume",)),
    **dict.fromkeys(("trigger", "start"), ("run",)),
    **dict.fromkeys(("retry", "replay"), ("redrive",)),
    "ls": ("list",),
    "logs": ("tail", "show"),
}
"""The names of commands, by the names that other programs use."""


class Group(_WithExample, click.Group):
    """A group with an example. For an unknown name, such as a mistyped command or another program's name for it, it
    suggests the nearest commands.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names. Raises click.UsageError."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            known = self.list_commands(ctx)
            found = [each for each in MEANT.get(name, ()) if each in known] or get_close_matches(name, known)
            near = " or ".join(map(repr, found))
            remedy = f"did you mean {near}?" if near else f"see {ctx.command_path} --help"
            raise UsageError(plain(f"no such command {name!r}; {remedy}"))
        return super().resolve_command(ctx, args)
