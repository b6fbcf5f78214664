"""What one evaluation will do, resolved and checked before a model loads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.evaluate.benchmarks import BENCHMARKS, SUITES, WORLD, Benchmark
from scapo.evaluate.data import Loaded, load_benchmark
from scapo.evaluate.item import Item

FILE_SAMPLES, FILE_MAX_TOKENS = 4, 4096


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Settings from the command line; `None` keeps the benchmark's own."""

    samples: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        bounds = (("samples", 1, None), ("temperature", 0, None), ("max_tokens", 1, None), ("limit", 1, None))
        for name, low, _ in bounds:
            value = getattr(self, name)
            if value is not None and not value >= low:
                raise ScapoError(f"--{name.replace('_', '-')} must be at least {low}; it is {value}.")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ScapoError(f"--top-p must be above 0 and at most 1; it is {self.top_p}.")


@dataclass(frozen=True, kw_only=True)
class SetPlan:
    """One set to evaluate: its items and its sampling."""

    name: str
    family: str
    items: list[Item]
    available: int
    source: str
    digest: str
    samples: int
    temperature: float
    top_p: float
    max_tokens: int
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> list[tuple[str, str, int]]:
        return [(self.name, item.id, sample) for item in self.items for sample in range(self.samples)]

    @property
    def sampling(self) -> dict[str, Any]:
        names = ("samples", "temperature", "top_p", "max_tokens")
        return {name: getattr(self, name) for name in names}

    def identity(self) -> dict[str, Any]:
        """What must agree when a run is resumed."""
        return {"digest": self.digest, **self.sampling}

    def conflicts(self, earlier: Mapping[str, Any]) -> list[str]:
        """Settings of an earlier run into the same folder that this one can't go on from (samples may grow)."""
        ours = self.identity()
        may_grow = earlier.get("samples", 0) <= self.samples
        return [
            name for name in ours if ours[name] != earlier.get(name) and not (name == "samples" and may_grow)
        ]


def plan_sets(
    suites: Sequence[str], data: Sequence[str], overrides: Overrides, skip_missing: bool = False
) -> list[SetPlan]:
    """Resolve `--suite` and `--data`; every set that can't be had is named in one error."""
    named, folders = parse_data(data)
    plans: list[SetPlan] = []
    missing: list[str] = []
    for benchmark, path in _sources(suites, named, folders):
        try:
            loaded = load_benchmark(benchmark, path, overrides.limit)
        except ScapoError as error:
            if path is not None:  # a given file that is bad is never skipped
                raise
            missing.append(str(error))
            continue
        plans.append(_plan(loaded, overrides))
    if missing and not (skip_missing and plans):
        raise ScapoError("\n".join([*missing, "Or leave out what is missing: --skip-missing."]))
    return [replace(plans[0], notes=(*missing, *plans[0].notes)), *plans[1:]] if missing else plans


def _plan(loaded: Loaded, overrides: Overrides) -> SetPlan:
    benchmark = loaded.benchmark
    chosen = {
        name: value for name, value in asdict(overrides).items() if value is not None and name != "limit"
    }
    own = {name: getattr(benchmark, name) for name in ("samples", "temperature", "top_p", "max_tokens")}
    return SetPlan(
        name=benchmark.name, family=benchmark.family, items=loaded.items, available=loaded.available,
        source=loaded.source, digest=loaded.digest, notes=tuple(loaded.notes), **{**own, **chosen},
    )  # fmt: skip


def parse_data(values: Sequence[str]) -> tuple[dict[str, Path], list[Path]]:
    """`NAME=PATH` pairs and plain folders that hold files named after benchmarks."""
    named: dict[str, Path] = {}
    folders: list[Path] = []
    for value in values:
        name, equals, path = value.partition("=")
        if not equals:
            folders.append(_folder(Path(value)))
        elif name in ("world", *SUITES) and Path(path).is_dir():
            folders.append(Path(path))
        elif name in BENCHMARKS:
            named[name] = Path(path)
        else:
            raise ScapoError(
                f"--data {value}: {name} is no benchmark. Use one of {', '.join(BENCHMARKS)}, "
                "or world=DIR, or DIR."
            )
    return named, folders


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise ScapoError(f"--data {path} is not a folder. Write --data NAME=FILE, or name a folder of files.")
    return path


def _sources(
    suites: Sequence[str], named: Mapping[str, Path], folders: Sequence[Path]
) -> list[tuple[Benchmark, Path | None]]:
    """Each set once, in order: a benchmark with its local file if there is one, or a plain problem file."""
    found: dict[str, tuple[Benchmark, Path | None]] = {}
    for suite in (name.strip() for value in suites for name in value.split(",") if name.strip()):
        for benchmark, path in _of_suite(suite):
            place = path or named.get(benchmark.name) or _in_folders(benchmark, folders)
            if benchmark.name in found and found[benchmark.name][1] != place:
                raise ScapoError(
                    f"Two files are called {benchmark.name}. Rename one; the name is the set's name."
                )
            found[benchmark.name] = (benchmark, place)
    if not found:
        raise ScapoError(f"Nothing to evaluate. Give --suite {', '.join(SUITES)}, a benchmark or a file.")
    return list(found.values())


def _of_suite(suite: str) -> list[tuple[Benchmark, Path | None]]:
    names = SUITES.get(suite.lower()) or ((suite,) if suite in BENCHMARKS else ())
    if names:
        return [(BENCHMARKS[name], None) for name in names]
    if not Path(suite).is_file():
        raise ScapoError(
            f"--suite {suite} is neither a suite ({', '.join(SUITES)}), a benchmark "
            f"({', '.join(BENCHMARKS)}) nor a file here."
        )
    stem = Path(suite).stem
    known = next((b for b in BENCHMARKS.values() if stem in b.file_stems and b.name in WORLD), None)
    file = Benchmark(name=stem, family="File", samples=FILE_SAMPLES, max_tokens=FILE_MAX_TOKENS)
    return [(known or file, Path(suite))]


def _in_folders(benchmark: Benchmark, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        for stem in benchmark.file_stems:
            for suffix in (".jsonl", ".parquet", ".csv"):
                if (folder / f"{stem}{suffix}").is_file():
                    return folder / f"{stem}{suffix}"
    return None
