"""All stories, in the order of the page."""

from tests.support.fault_table import changes, deaths, firings, planned

STORIES = (*firings.STORIES, *deaths.STORIES, *changes.STORIES, *planned.STORIES)
