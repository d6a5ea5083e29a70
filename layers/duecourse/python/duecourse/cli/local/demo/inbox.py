"""The inbox of the local stack: the notifications of its topics as a page for a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

SHOWN = 100
"""The maximum number of notifications on the page."""

REFRESH_SECONDS = 5

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The Content-Security-Policy of the page: it has no scripts and loads nothing."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{seconds}">
<meta name="viewport" content="width=device-width"><title>Inbox</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 45rem;
margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }} pre {{ white-space: pre-wrap }}</style></head>
<body><h1>Inbox</h1><p>Notifications of the stage's topics, newest first. On AWS they go to the subscribers.</p>
{items}</body></html>
"""


def page(notices: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of these notifications (envelopes of SNS, oldest first)."""
    items = [_item(notice) for notice in notices[: -SHOWN - 1 : -1]]
    return _PAGE.format(seconds=REFRESH_SECONDS, items="\n".join(items) or "<p>There are no notifications yet.</p>")


def _item(notice: Mapping[str, Any]) -> str:
    subject = str(notice.get("Subject") or str(notice.get("TopicArn", "")).rpartition(":")[2])
    parts = (subject, str(notice.get("Timestamp", "")), _readable(str(notice.get("Message", ""))))
    heading, at, message = map(escape, parts)
    return f"<article><h2>{heading}</h2><p>{at}</p><pre>{message}</pre></article>"


def _readable(message: str) -> str:
    try:
        return json.dumps(json.loads(message), indent=2, ensure_ascii=False)
    except ValueError:
        return message
