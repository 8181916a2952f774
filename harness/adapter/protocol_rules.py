"""The rules of the contract, sans-IO: which events a client may output, given its commands and earlier events.

The input are lines, the output are events. The first line that breaks a rule raises :class:`RuleBroken` with the
expectation. Rules that need no table: events are numbered without gaps; times are between the start of the process and
now, on the monotonic clock; a response names a command that was sent; a record is invoked once, and then has at most
one result.

The results of Apache Kafka's own verifiable clients (``producer_send_success``, ``producer_send_error``: one event per
record, without number or clock) are accepted as ``op_complete``. Events with any other name are noted and ignored.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from harness.adapter import kafka_verifiable
from harness.adapter.consumed import is_even
from harness.adapter.life import LIFE, Life
from harness.limits.meter import NOTES
from harness.limits.parsed import UNREADABLE, cut, why, within
from harness.model.consumer_contract import ConsumerCommand, RecordsConsumed
from harness.model.contract import (
    CONTRACT_VERSION,
    STEP_OPS,
    WHOLE_OPS,
    AnyEvent,
    ClientEvent,
    Close,
    Command,
    Configure,
    Configured,
    Flush,
    LoadCommand,
    OpComplete,
    OpInvoke,
    StartupComplete,
    UnknownCommand,
)
from harness.model.verdicts import Outcome
from harness.text.sentences import Coded

#: The id of a close without a command (end of stdin, SIGTERM).
UNASKED = -1
OUTCOMES = frozenset(Outcome)
SHOWN_CHARS = 80
_WHOLE = {kind.__struct_config__.tag: kind for kind in (Flush, Close, *ConsumerCommand.__args__)}
_COLUMNS = ("error", "invoke_ns", "complete_ns")


class RuleBroken(Coded):
    """A rule of the contract was broken. The message says what was expected and what was received."""


class Unknown(msgspec.Struct, frozen=True):
    """A command that the contract does not define."""

    cmd: str
    id: int


class Head(msgspec.Struct):
    """The fields that every event has, known or not."""

    name: str
    seq: int | None = None


_event = msgspec.json.Decoder(ClientEvent)
_head = msgspec.json.Decoder(Head)
_KNOWN = {kind.__struct_config__.tag for kind in ClientEvent.__args__}


class ProtocolRules:
    """Checks one client's events line by line. ``began_ns`` is when its process was started."""

    def __init__(self, began_ns: int) -> None:
        self.life = Life.STARTING
        #: Names of events that the contract does not define.
        self.unknown: list[str] = []
        self.left_out = 0
        self._began_ns = self._last_ns = began_ns
        self._seq = 0
        self._commands: dict[int, Command | Unknown] = {}
        self._elements = 0
        self._answered: set[int] = set()
        self._invoked: dict[int, tuple[int, int]] = {}
        self._settled: set[int] = set()

    @property
    def outstanding(self) -> int:
        """The number of requested elements without a result."""
        return self._elements - len(self._settled)

    def asked(self, command: Command | Unknown) -> None:
        """Record a command that is about to be written."""
        self._commands[command.id] = command
        if isinstance(command, LoadCommand):
            self._elements += command.count

    def said(self, line: bytes, now_ns: int) -> AnyEvent | None:
        """Return the event in ``line``, read at ``now_ns``, or None if its name is unknown. Raises RuleBroken."""
        try:
            head = _head.decode(line)
        except UNREADABLE as error:
            raise RuleBroken(
                "not-an-event", "expected a JSON object with a name and a seq ({why})", why=why(error, line)
            ) from None
        if head.name in kafka_verifiable.NAMES:
            try:
                result = kafka_verifiable.translated(line, self._seq - 1, now_ns, self._invoked)
            except kafka_verifiable.NotUpstream as error:
                raise RuleBroken(error.code, error.template, **error.params) from None
            return self._accept(result, now_ns)
        if head.name in _KNOWN or head.seq is not None:
            self._number(head)
        if head.name not in _KNOWN:
            self._note(cut(head.name, SHOWN_CHARS))
            self.left_out += head.seq is not None
            return None
        try:
            event = within(_event.decode(line), len(line))
        except UNREADABLE as error:
            raise RuleBroken(
                "event-malformed",
                "{event} does not fit the contract: {why}",
                event=head.name,
                why=why(error, line),
            ) from None
        self._clock(event, now_ns)
        return self._accept(event, now_ns)

    def _note(self, name: str) -> None:
        if name not in self.unknown:
            self.unknown.append(name)
            if len(self.unknown) > NOTES.base:
                raise RuleBroken(
                    "too-many-notes",
                    "expected events of the contract, got more than {most} other names",
                    most=NOTES.base,
                )

    def stored(self, event: AnyEvent, now_ns: int) -> None:
        """Check an event from stored evidence, without its number. Raises RuleBroken."""
        if not (isinstance(event, OpComplete) and event.is_unnumbered):
            self._clock(event, now_ns)
        self._accept(event, now_ns)

    def _number(self, head: Head) -> None:
        if head.seq != self._seq:
            raise RuleBroken(
                "seq-gap",
                "expected seq {expected} in {event}, got {seq}: an event is missing or repeated",
                expected=self._seq,
                event=head.name,
                seq=head.seq,
            )
        self._seq += 1

    def _clock(self, event: AnyEvent, now_ns: int) -> None:
        if not self._last_ns <= event.mono_ns <= now_ns:
            raise RuleBroken(
                "mono-ns-out-of-order",
                "expected mono_ns of {event} between {last_ns} and {now_ns}, got {mono_ns}: it "
                "must be CLOCK_MONOTONIC, and events must be written in its order",
                event=_name(event),
                last_ns=self._last_ns,
                now_ns=now_ns,
                mono_ns=event.mono_ns,
            )
        self._last_ns = event.mono_ns

    def _accept(self, event: AnyEvent, now_ns: int) -> AnyEvent:
        after = LIFE.get((self.life, type(event)))
        if after is None:
            raise RuleBroken(
                "event-out-of-phase",
                "{event} is not allowed while the client is {life}",
                event=_name(event),
                life=self.life.value,
            )
        match event:
            case StartupComplete():
                self._startup(event)
            case Configured():
                self._configured(event)
            case UnknownCommand():
                self._unsupported(event)
            case OpInvoke():
                self._invoke(event)
            case OpComplete():
                self._complete(event, now_ns)
            case RecordsConsumed():
                self._assert_even(event)
        self.life = after
        return event

    def _startup(self, event: StartupComplete) -> None:
        if event.contract_version != CONTRACT_VERSION:
            raise RuleBroken(
                "contract-version",
                "expected contract_version {expected}, got {version}",
                expected=CONTRACT_VERSION,
                version=event.contract_version,
            )

    def _configured(self, event: Configured) -> None:
        command = self._commands.get(event.id)
        if not isinstance(command, Configure):
            raise RuleBroken(
                "configured-unasked",
                "configured answers id {id}, but no configure with that id was sent",
                id=event.id,
            )
        told = Counter([*event.applied, *event.not_set])
        odd = [name for name in sorted({*told, *command.config}) if told[name] != (name in command.config)]
        odd += sorted(set(event.client_not_set) - set(command.client_config))
        if odd:
            raise RuleBroken(
                "settings-not-answered",
                "expected every setting once, in applied or in not_set; not so {odd}",
                odd=tuple(odd),
            )

    def _unsupported(self, event: UnknownCommand) -> None:
        command = self._commands.get(event.id)
        if command is None or event.cmd != (command.cmd if isinstance(command, Unknown) else _name(command)):
            raise RuleBroken(
                "unsupported-unasked",
                "unsupported names {cmd!r} with id {id}, but no such command was sent",
                cmd=event.cmd,
                id=event.id,
            )
        if event.id in self._answered:
            raise RuleBroken("answered-twice", "unsupported answers id {id} a second time", id=event.id)
        self._answered.add(event.id)

    def _invoke(self, event: OpInvoke) -> None:
        if event.op in WHOLE_OPS:
            self._whole_op(event)
            return
        command = self._load_command(event)
        asked = range(command.first, command.first + command.count)
        for n in range(event.first, event.first + event.count):
            if n not in asked:
                raise RuleBroken(
                    "element-unasked",
                    "op_invoke names {element} {n}, but command {id} asked for {span}",
                    element=command.element,
                    n=n,
                    id=event.id,
                    span=_span(asked),
                )
            if n in self._invoked:
                raise RuleBroken(
                    "element-invoked-twice",
                    "{element} {n} is invoked a second time",
                    element=command.element,
                    n=n,
                )
            self._invoked[n] = (event.id, event.mono_ns)

    def _assert_even(self, event: RecordsConsumed) -> None:
        if not is_even(event):
            raise RuleBroken(
                "consumed-uneven", "expected columns of records_consumed that agree with count and bounds"
            )

    def _load_command(self, event: OpInvoke | OpComplete) -> LoadCommand:
        command = self._commands.get(event.id)
        if not isinstance(command, LoadCommand) or command.op != event.op:
            raise RuleBroken(
                "command-unasked",
                "{event} names {op} of command {id}, but no such command with that id was sent",
                event=_name(event),
                op=event.op,
                id=event.id,
            )
        return command

    def _whole_op(self, event: OpInvoke | OpComplete) -> None:
        if event.op in STEP_OPS:
            self._step(event)
            return
        kind = _WHOLE.get(event.op)
        if kind is None:
            raise RuleBroken(
                "not-flush-or-close",
                "expected flush or close in {event}, got {op!r}",
                event=_name(event),
                op=event.op,
            )
        unasked = event.op == "close" and event.id == UNASKED
        if not unasked and not isinstance(self._commands.get(event.id), kind):
            raise RuleBroken(
                "command-unasked",
                "{event} names {op} {id}, but no such command was sent",
                event=_name(event),
                op=event.op,
                id=event.id,
            )

    def _step(self, event: OpInvoke | OpComplete) -> None:
        command = self._commands.get(event.id)
        if not isinstance(command, LoadCommand) or event.op not in command.steps:
            raise RuleBroken(
                "step-unasked",
                "{event} names {op} with id {id}, but no command with that id has this step",
                event=_name(event),
                op=event.op,
                id=event.id,
            )

    def _complete(self, event: OpComplete, now_ns: int) -> None:
        rows = len(event.outcome)
        command = None if event.op in WHOLE_OPS else self._load_command(event)
        for name in (*_COLUMNS, *(("records", *command.columns) if command else ())):
            if len(getattr(event, name)) != rows:
                raise RuleBroken(
                    "column-length",
                    "expected {rows:row} in column {name} of op_complete, got {count}",
                    rows=rows,
                    name=name,
                    count=len(getattr(event, name)),
                )
        for outcome, invoke_ns, complete_ns in zip(
            event.outcome, event.invoke_ns, event.complete_ns, strict=True
        ):
            if outcome not in OUTCOMES:
                raise RuleBroken(
                    "outcome-unknown",
                    "expected outcome ok, fail or info, got {found!r}",
                    found=outcome,
                )
            if not self._began_ns <= invoke_ns <= complete_ns <= now_ns:
                raise RuleBroken(
                    "interval-out-of-order",
                    "expected invoke_ns and complete_ns in order between {began_ns} and "
                    "{now_ns}, got {invoke_ns} and {complete_ns}: both must be CLOCK_MONOTONIC",
                    began_ns=self._began_ns,
                    now_ns=now_ns,
                    invoke_ns=invoke_ns,
                    complete_ns=complete_ns,
                )
        if command is not None:
            self._results(event, command.element)
            return
        self._whole_op(event)
        if rows != 1:
            raise RuleBroken(
                "not-one-row",
                "expected one row in op_complete of {op} {id}, got {rows}",
                op=event.op,
                id=event.id,
                rows=rows,
            )
        if event.op in STEP_OPS:
            return
        if event.id in self._answered:
            raise RuleBroken(
                "answered-twice", "op_complete answers {op} {id} a second time", op=event.op, id=event.id
            )
        self._answered.add(event.id)

    def _results(self, event: OpComplete, element: str) -> None:
        for n in event.records:
            if n not in self._invoked:
                raise RuleBroken(
                    "result-not-invoked",
                    "op_complete gives a result for {element} {n}, which was never invoked",
                    element=element,
                    n=n,
                )
            if self._invoked[n][0] != event.id:
                raise RuleBroken(
                    "result-of-another-command",
                    "op_complete of command {id} gives a result for {element} {n} of another command",
                    id=event.id,
                    element=element,
                    n=n,
                )
            if n in self._settled:
                raise RuleBroken(
                    "result-twice", "{element} {n} is given a second result", element=element, n=n
                )
            self._settled.add(n)


def _name(event: msgspec.Struct) -> str:
    return str(event.__struct_config__.tag)


def _span(numbers: range) -> str:
    return f"{numbers.start} to {numbers.stop - 1}"
