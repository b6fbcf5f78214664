"""Durable writes that hold nobody up."""

import asyncio
from collections.abc import Sequence
from types import TracebackType

from scapo.perturb.journal import Call, Journal, Key, Result

SYNC_INTERVAL = 0.05
"""Seconds between two flushes to the disk: more of them only take time from the requests."""


class Writer:
    """Writes to the journal at once, and forces what was written to the disk beside the event loop.

    A killed process loses nothing that `write` has returned from; a power cut, what was written in the last
    instant. When the `async with` block is left, everything is on the disk.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._written = asyncio.Event()
        self._closing = False

    def write(self, entries: Sequence[tuple[Key, Result] | Call]) -> None:
        self._journal.write(entries, sync=False)
        self._written.set()

    async def _keep_syncing(self) -> None:
        while not self._closing:
            await self._written.wait()
            self._written.clear()
            await asyncio.to_thread(self._journal.sync)
            await asyncio.sleep(0 if self._closing else SYNC_INTERVAL)

    async def __aenter__(self) -> "Writer":
        self._task = asyncio.create_task(self._keep_syncing())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._written.set()
        await self._task
        self._journal.sync()
