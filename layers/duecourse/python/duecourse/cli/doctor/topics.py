"""The subscribers of the alarms."""

from __future__ import annotations

from duecourse.checks.check import Check, bad, fine
from duecourse.cli.doctor.facts import Subscribers
from duecourse.cli.doctor.stage import Stage

PENDING = "PendingConfirmation"
"""The ARN of a subscription that is not confirmed (Amazon SNS API Reference, "ListSubscriptionsByTopic")."""

PAGES = "PagesTopicArn"
"""The output with the topic of the alarms that page."""

WHERE = "docs/operations.md#alarms-and-notices"


def subscribers(stage: Stage) -> Subscribers:
    """Return the subscriptions to the topic of pages."""
    topics = stage.clients("sns").get_paginator("list_subscriptions_by_topic")
    found = [
        each["SubscriptionArn"]
        for page in topics.paginate(TopicArn=stage.outputs[PAGES])
        for each in page["Subscriptions"]
    ]
    pending = found.count(PENDING)
    return Subscribers(len(found) - pending, pending)


def judge(found: Subscribers) -> Check:
    """Check whether a page reaches a subscriber."""
    if found.confirmed:
        return fine("subscribers", f"{found.confirmed} confirmed subscriptions to the topic for pages")
    waiting = f"; {found.pending} wait for confirmation" if found.pending else ""
    return bad(
        "subscribers",
        f"no subscription to the topic for pages is confirmed, so no alarm reaches a person{waiting}",
        "confirm the subscription with the link in its e-mail, or subscribe an address; then run duecourse alarms test",
        WHERE,
    )
