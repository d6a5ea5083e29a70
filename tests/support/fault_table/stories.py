"""All stories, in the order of the page."""

from __future__ import annotations

from tests.support.fault_table import changes, deaths, firings

STORIES = (*firings.STORIES, *deaths.STORIES, *changes.STORIES)
