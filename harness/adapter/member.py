"""The session with one consumer process: calls of its application, and stopping and continuing the process."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

import psutil
from msgspec.structs import replace

from harness.adapter import breaches
from harness.adapter.session import GRACE_S, Conversation
from harness.model.consumer_contract import ConsumerCommand
from harness.model.contract import OpComplete, UnknownCommand
from harness.model.errors import KafkaTrialError


class CommandNotOffered(KafkaTrialError):
    """The client does not know a command of its workload."""


class MemberConversation(Conversation):
    """One consumer process."""

    _is_frozen = False
    #: A trial continues after the end of a member, and its last events decide what counts as delivered.
    _last_words_s = GRACE_S

    async def call(self, command: ConsumerCommand, timeout_s: float) -> OpComplete | None:
        """Make the consumer do one call, and wait for its end. Return None if there is none in time.

        ``command.id`` is set here. Raise CommandNotOffered if the client does not know the command.
        """
        event = await self._ask(replace(command, id=next(self._ids)), timeout_s)
        if event is None or isinstance(event, OpComplete):
            return event
        if isinstance(event, UnknownCommand):
            raise CommandNotOffered(
                "command-not-offered", "client {name} does not offer {cmd}", name=self._name, cmd=event.cmd
            )
        raise self._broken("op-complete-missing", "expected op_complete, {got}", got=breaches.got(event))

    async def over(self) -> None:
        """Wait until the session has ended, for any reason."""
        await asyncio.wait({self._over})

    async def kill(self) -> None:
        """Kill the process and all of its descendants (SIGKILL): it cannot be continued any more."""
        self._is_frozen = False
        await super().kill()

    def freeze(self) -> None:
        """Stop the client's processes (SIGSTOP): its connections stay open, and it does nothing."""
        self._is_frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> bool:
        """Continue the client's processes. Return False if they were not stopped."""
        was_frozen, self._is_frozen = self._is_frozen, False
        if was_frozen:
            self._signal(signal.SIGCONT)
        return was_frozen

    def _signal(self, number: int) -> None:
        """Send a signal to everything that the keeper started. The keeper itself goes on."""
        with suppress(psutil.Error):
            for process in psutil.Process(self._child.pid).children(recursive=True):
                with suppress(psutil.Error):
                    process.send_signal(number)
