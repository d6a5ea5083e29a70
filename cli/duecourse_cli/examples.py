"""Commands whose help ends with an example, printed as it is written."""

from __future__ import annotations

from typing import Any

import click


class _WithExample(click.Command):
    def __init__(self, *args: Any, example: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the example's lines after the options."""
        del ctx
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(_WithExample):
    """A command with an example."""


class Group(_WithExample, click.Group):
    """A group with an example."""
