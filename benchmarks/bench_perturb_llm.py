"""Speed of `scapo perturb`: checks, rules, and 64 requests at once against an endpoint with 200 ms latency.

Run: python benchmarks/bench_perturb_llm.py [problems]
"""

import asyncio
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "perturb"))

from scripted_endpoint import Answer, ScriptedEndpoint, apples, good, good_answer

from scapo.perturb.checks import check
from scapo.perturb.journal import Journal
from scapo.perturb.kinds import SEMIFACTUAL
from scapo.perturb.llm.run import run_llm
from scapo.perturb.llm.settings import LlmSettings
from scapo.perturb.run import run_rules
from scapo.problems import Problem

LATENCY, CONCURRENCY = 0.2, 64
IDEAL = CONCURRENCY / LATENCY
KINDS = list(SEMIFACTUAL)


def serve() -> None:
    """The endpoint, in a process of its own: prints its address and serves until killed."""

    def script(body: dict, count: int) -> Answer:
        return good_answer(body, delay=LATENCY)

    async def main() -> None:
        endpoint = ScriptedEndpoint(script, keep=False)
        server = await endpoint.start()
        print(endpoint.url, flush=True)
        await server.serve_forever()

    asyncio.run(main())


def measure_checks(problems: list[Problem]) -> None:
    began, count = time.process_time(), 0
    for problem in problems[:500]:
        for kind, text in good(problem.problem).items():
            assert check(kind, problem.problem, text, problem.answer) is None
            count += 1
    print(f"checks: {count / (time.process_time() - began):,.0f} texts/s on one core (bar 2,000)")


def measure_rules(problems: list[Problem], folder: Path) -> None:
    began = time.process_time()
    run_rules(problems, folder / "rules.jsonl", kinds=KINDS, seed=0)
    print(f"rules:  {len(problems) / (time.process_time() - began):,.0f} problems/s on one core (bar 500)")


def measure_llm(problems: list[Problem], folder: Path, url: str) -> None:
    memory: list[float] = []
    settings = LlmSettings(model="scripted", base_url=url, concurrency=CONCURRENCY)
    began, cpu = time.monotonic(), time.process_time()
    run_llm(
        problems,
        folder / "llm.jsonl",
        kinds=KINDS,
        settings=settings,
        watch=_sampler(memory, len(problems) // 10),
    )
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    rate = len(problems) / seconds
    print(
        f"llm:    {rate:,.0f} requests/s, {rate / IDEAL:.1%} of the ideal {IDEAL:.0f} (bar 90 %); "
        f"{1000 * cpu / len(problems):.2f} ms of processor time a problem; "
        f"memory {memory[1]:.0f} MiB after a tenth of the problems, {memory[-1]:.0f} MiB at the end"
    )


def _sampler(memory: list[float], every: int) -> Callable[[Journal], Callable[[], None]]:
    """Notes the memory at the start and after each `every` problems: more often would cost time."""
    memory.append(_resident_mib())
    count = itertools.count(1)
    return lambda journal: lambda: None if next(count) % every else memory.append(_resident_mib())


def _resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def main(count: int) -> None:
    problems = [Problem(str(n), apples(n + 10), str(n + 14)) for n in range(count)]
    os.environ["SCAPO_LLM_API_KEY"] = "not-a-key"
    measure_checks(problems)
    with tempfile.TemporaryDirectory() as folder:
        measure_rules(problems, Path(folder))
        server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            measure_llm(problems, Path(folder), server.stdout.readline().strip())
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
