"""A message in the domain's words."""

from __future__ import annotations

from duecourse.domain.start_decision import Offer
from duecourse.messages import RunMessage


def offer_of(message: RunMessage) -> Offer:
    """What a message offers, in the domain's words."""
    return Offer(
        tenant=message.tenant,
        job_id=message.job_id,
        occurrence=message.occurrence,
        due=message.due,
        generation=message.generation,
        nonce=message.nonce,
        attempt=message.attempt,
        suffix=message.suffix,
        count=message.count,
        through=message.through,
        caught_up_at=message.caught_up_at,
        final=message.final,
    )
