"""Names and docstrings of the code that is written."""

from __future__ import annotations

import re
from keyword import iskeyword
from textwrap import fill, indent


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
