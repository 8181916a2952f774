"""Rules for single frames: which frames they apply to, and the action.

A rule counts the frames that match it over all connections of a lane, and acts on ``count`` of them from number
``first`` on. At most one rule acts on a frame: the one that was armed first. Pure. An instance belongs to one event
loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.model.rows import Frame
from harness.model.spec import FrameMatch
from harness.witness.actions import Action
from harness.witness.trigger import matches


@dataclass
class Rule:
    """One rule. ``brokers`` are node ids, empty for all. ``seen`` is the number of frames that matched."""

    name: str
    match: FrameMatch
    action: Action
    brokers: tuple[int, ...] = ()
    seen: int = 0

    def takes(self, frame: Frame) -> bool:
        """Count the frame if it matches. Return True if the rule acts on it."""
        if not matches(self.match, frame) or (self.brokers and frame.broker not in self.brokers):
            return False
        self.seen += 1
        return self.match.first <= self.seen < self.match.first + self.match.count


@dataclass
class FrameRules:
    """The rules of a lane by name, in the order in which they were armed."""

    armed: dict[str, Rule] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.armed)

    def arm(self, name: str, match: FrameMatch, action: Action, brokers: tuple[int, ...] = ()) -> None:
        """Start to count and act on frames. Raises ValueError if a rule of that name exists."""
        if name in self.armed:
            raise ValueError(f"a rule {name!r} is armed already")
        self.armed[name] = Rule(name, match, action, brokers)

    def disarm(self, name: str) -> None:
        """Remove a rule, which releases the frames that it holds. Does nothing if the rule is not armed."""
        self.armed.pop(name, None)

    def take(self, frame: Frame) -> Rule | None:
        """Return the rule that acts on this frame, or None. Every rule that matches counts the frame."""
        taking = [rule for rule in self.armed.values() if rule.takes(frame)]
        return taking[0] if taking else None
