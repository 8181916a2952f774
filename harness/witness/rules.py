"""Rules for single frames: which frame is meant, and what is done with it.

A rule counts the frames that match it, over all connections of a lane, and acts on those from the ``first`` on,
``count`` of them. At most one rule acts on a frame, the one that was armed first. Pure; one event loop's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.model.rows import Frame
from harness.model.spec import FrameMatch
from harness.witness.actions import Action
from harness.witness.trigger import matches


@dataclass
class Rule:
    """``brokers`` are node ids, empty for all; ``seen`` counts the frames that matched."""

    name: str
    match: FrameMatch
    action: Action
    brokers: tuple[int, ...] = ()
    seen: int = 0

    def takes(self, frame: Frame) -> bool:
        """Count the frame if it matches; True if it is one to act on."""
        if not matches(self.match, frame) or (self.brokers and frame.broker not in self.brokers):
            return False
        self.seen += 1
        return self.match.first <= self.seen < self.match.first + self.match.count


@dataclass
class Rules:
    """The rules of a lane, by name, in the order of their arming."""

    armed: dict[str, Rule] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.armed)

    def arm(self, name: str, match: FrameMatch, action: Action, brokers: tuple[int, ...] = ()) -> None:
        """From now on frames are counted and acted on. ValueError: there is a rule of that name."""
        if name in self.armed:
            raise ValueError(f"a rule {name!r} is armed already")
        self.armed[name] = Rule(name, match, action, brokers)

    def disarm(self, name: str) -> None:
        """Act no more; what the rule keeps may go on. Also where nothing was armed."""
        self.armed.pop(name, None)

    def take(self, frame: Frame) -> Rule | None:
        """The rule that acts on this frame. Every rule counts it."""
        taking = [rule for rule in self.armed.values() if rule.takes(frame)]
        return taking[0] if taking else None
