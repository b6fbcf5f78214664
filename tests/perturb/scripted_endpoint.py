"""A real HTTP server on loopback that speaks the chat-completions protocol and follows a script.

The script is a function of (request body, number of the request from 1) that returns an `Answer`.
"""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from scapo.perturb.kinds import Kind


@dataclass
class Answer:
    """What to send back: `drop` closes the connection instead, `raw` replaces the whole body."""

    text: str | None = ""
    finish: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    raw: bytes | None = None
    usage: tuple[int, int] | None = (100, 50)

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": {"message": self.text, "type": "error", "code": None}}).encode()
        message = {"role": "assistant", "content": self.text}
        reply: dict[str, Any] = {
            "id": "x",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish}],
        }
        if self.usage:
            reply["usage"] = {"prompt_tokens": self.usage[0], "completion_tokens": self.usage[1]}
        return json.dumps(reply).encode()


Script = Callable[[dict[str, Any], int], Answer]


class ScriptedEndpoint:
    """Serves a script; `requests` and `headers` keep what came in."""

    def __init__(self, script: Script, *, keep: bool = True) -> None:
        self.script, self.keep = script, keep
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.count = self.under_way = self.most_under_way = 0
        self.url = ""

    async def start(self, port: int = 0) -> asyncio.Server:
        server = await asyncio.start_server(self._connection, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        return server

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
        self.count += 1
        if self.keep:
            self.requests.append(body)
            self.headers.append(head)
        answer = self.script(body, self.count)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(answer.delay)
        self.under_way -= 1
        if answer.drop:
            return False
        content = answer.body()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **answer.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode() + content)
        await writer.drain()
        return True


@contextmanager
def serving(script: Script) -> Iterator[ScriptedEndpoint]:
    """The endpoint in a thread of its own, until the block ends."""
    endpoint, loop = ScriptedEndpoint(script), asyncio.new_event_loop()
    server = loop.run_until_complete(endpoint.start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_end(server))
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    connections = asyncio.all_tasks() - {asyncio.current_task()}
    for connection in connections:
        connection.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


def original_of(body: dict[str, Any]) -> str:
    """The problem that a request asks about."""
    user = body["messages"][-1]["content"]
    return user.split("<<<original>>>\n", 1)[1].rsplit("\n<<<end of original>>>", 1)[0]


def wanted_of(body: dict[str, Any]) -> list[Kind]:
    """The kinds that a request asks for."""
    (line,) = re.findall(r"^Wanted: (.*)\.$", body["messages"][-1]["content"], re.MULTILINE)
    return [Kind(name) for name in line.split(", ")]


def is_judge(body: dict[str, Any]) -> bool:
    return "SAME or DIFFERENT" in body["messages"][-1]["content"]


def apples(number: int) -> str:
    """One of many problems that `good` knows how to rewrite."""
    return f"Tom has {number} apples and buys 4 more at the market. How many apples does he have now?"


def good(original: str) -> dict[Kind, str]:
    """Rewrites of an `apples` problem that pass the checks."""
    return {
        Kind.PARAPHRASE: original.replace(
            "How many apples does he have now?", "How many apples does he now have?"
        ),
        Kind.TYPO_NOISE: original.replace("market", "markte"),
        Kind.SCENARIO_WRAP: f"On a rainy afternoon, {original}",
        Kind.IRRELEVANT_CONTEXT: f"{original} [tag: mx93q]",
        Kind.COUNTERFACTUAL: original.replace("buys 4 more", "buys 9 more"),
    }


def as_json(texts: dict[Kind, str]) -> str:
    return json.dumps({str(kind): text for kind, text in texts.items()})


def as_text(texts: dict[Kind, str]) -> str:
    return "".join(f"<<<{kind}>>>\n{text}\n" for kind, text in texts.items()) + "<<<end>>>"


def good_answer(body: dict[str, Any], **options: Any) -> Answer:
    """A right reply in the form that the request asks for."""
    texts = {kind: good(original_of(body))[kind] for kind in wanted_of(body)}
    return Answer((as_json if "response_format" in body else as_text)(texts), **options)
