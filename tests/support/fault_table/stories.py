"""All stories, in the order of the page."""

from tests.support.fault_table import changes, deaths, firings

STORIES = (*firings.STORIES, *deaths.STORIES, *changes.STORIES)
