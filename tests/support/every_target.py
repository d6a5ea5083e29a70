"""One target of each kind that can be posted, with every field set."""

from duecourse.domain.targets.kinds import TARGETS
from duecourse.domain.targets.targets import Target

EVERY_TARGET: tuple[Target, ...] = tuple(
    kind.target({"type": word} | kind.example) for word, kind in TARGETS.items() if kind.postable
)
