"""What Inspect learns from this package: the `scapo/` model provider and one task per benchmark.

Loaded by Inspect through the `inspect_ai` entry point, so that
`inspect eval scapo/aime_2024 --model scapo/PATH` works.
"""

from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task, task

from scapo.evaluate.benchmarks import BENCHMARKS, Benchmark
from scapo.evaluate.provider import ScapoAPI
from scapo.evaluate.setting import Overrides, plan_sets
from scapo.evaluate.task import inspect_task

__all__ = ["ScapoAPI", "problem_file", *BENCHMARKS]


@task
def problem_file(path: str, samples: int = 4, seed: int = 0, max_tokens: int = 4096) -> Task:
    """Any problem file: `inspect eval scapo/problem_file -T path=FILE --model ...`."""
    plans = plan_sets([path], [], Overrides(samples=samples, max_tokens=max_tokens))
    return inspect_task(plans[0], seed)


def _benchmark_task(benchmark: Benchmark) -> Callable[..., Task]:
    def build(
        data: str | None = None, samples: int | None = None, seed: int = 0, limit: int | None = None
    ) -> Task:
        source = [] if data is None else [data if Path(data).is_dir() else f"{benchmark.name}={data}"]
        plans = plan_sets([benchmark.name], source, Overrides(samples=samples, limit=limit))
        return inspect_task(plans[0], seed)

    build.__name__ = build.__qualname__ = benchmark.name
    build.__doc__ = f"{benchmark.name} as in the paper; data=FILE_OR_FOLDER uses a local copy."
    return task(build)


globals().update({name: _benchmark_task(benchmark) for name, benchmark in BENCHMARKS.items()})
