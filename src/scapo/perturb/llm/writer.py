"""Durable writes for many workers: what comes together goes to the disk together."""

import asyncio
from types import TracebackType

from scapo.perturb.journal import Call, Journal, Key, Result

Entry = tuple[Key, Result] | Call


class GroupWriter:
    """`write` returns when its entries are on the disk. One fsync serves everything that waits by then."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: list[tuple[list[Entry], asyncio.Future[None]]] = []
        self._arrived = asyncio.Event()
        self._closing = False

    async def write(self, entries: list[Entry]) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entries, done))
        self._arrived.set()
        await done

    async def _work(self) -> None:
        while not (self._closing and not self._waiting):
            await self._arrived.wait()
            self._arrived.clear()
            batch, self._waiting = self._waiting, []
            if batch:
                await self._write_batch(batch)

    async def _write_batch(self, batch: list[tuple[list[Entry], asyncio.Future[None]]]) -> None:
        entries = [entry for part, _ in batch for entry in part]
        try:
            await asyncio.to_thread(self._journal.write, entries, sync=True)
        except Exception as error:
            for _, done in batch:
                if not done.done():
                    done.set_exception(error)
            return
        for _, done in batch:
            if not done.done():
                done.set_result(None)

    async def __aenter__(self) -> "GroupWriter":
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._arrived.set()
        await self._task
