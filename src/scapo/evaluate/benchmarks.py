"""The benchmarks of the paper's Table 1 and of the embedded world: where they live, how they are sampled.

Row counts are the paper's. A hub revision can be pinned per benchmark; `None` takes the newest one, and the
digest of the rows that were used is written to the results either way.
"""

from dataclasses import dataclass, field
from typing import Literal

Grader = Literal["answer", "answers", "choice"]
MATH_FAMILIES = ("AIME", "AMC", "HMMT", "BRUMO", "SMT", "Omni-Math", "Minerva", "OlympiadBench")
OOD_FAMILIES = ("NoOp-AIME", "ThinkBench-AIME", "GPQA-Diamond")
WORLD_FAMILY = "World"
WORLD = ("agree", "conflict", "neutral", "noop")
PAPER_TEMPERATURE, PAPER_TOP_P, PAPER_MAX_TOKENS = 0.7, 0.9, 16_384
WORLD_TEMPERATURE, WORLD_TOP_P, WORLD_MAX_TOKENS = 1.0, 1.0, 256  # as its policy is trained and described


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One problem set with its protocol. `columns` maps our names to the source's."""

    name: str
    family: str
    samples: int
    rows: int | None = None
    hub: str | None = None
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    grader: Grader = "answer"
    files: tuple[str, ...] = ()
    temperature: float = PAPER_TEMPERATURE
    top_p: float = PAPER_TOP_P
    max_tokens: int = PAPER_MAX_TOKENS
    remedy: str = ""

    @property
    def file_stems(self) -> tuple[str, ...]:
        """Names under which a folder of local copies may hold this benchmark."""
        return (self.name, *self.files)


_NOOP = "Build it with: scapo problems noop AIME_FILE -o FILE."
_THINKBENCH = "Build it with: scapo problems thinkbench AIME_FILE -o FILE."
_GPQA_COLUMNS = {"problem": "Question", "answer": "Correct Answer", "id": "Record ID"}


def _arena(name: str, family: str, rows: int) -> Benchmark:
    return Benchmark(
        name=name,
        family=family,
        rows=rows,
        samples=16,
        hub=f"MathArena/{name}",
        columns={"id": "problem_idx"},
    )


def _aime_variant(kind: str, family: str, year: int, rows: int, samples: int, remedy: str) -> Benchmark:
    return Benchmark(
        name=f"{kind}_aime_{year}", family=family, rows=rows, samples=samples,
        files=(f"aime_{year}_{kind}",), remedy=remedy,
    )  # fmt: skip


_ALL = (
    Benchmark(name="aime_2024", family="AIME", rows=30, samples=16, hub="HuggingFaceH4/aime_2024"),
    _arena("aime_2025", "AIME", 30),
    _arena("aime_2026", "AIME", 30),
    Benchmark(
        name="amc_2023", family="AMC", rows=40, samples=16, hub="math-ai/amc23", split="test",
        columns={"problem": "question"},
    ),
    Benchmark(name="amc_2024", family="AMC", rows=45, samples=16, hub="rawsh/2024_AMC12"),
    Benchmark(
        name="amc_2025", family="AMC", rows=42, samples=16, hub="sonthenguyen/amc12-2025-non-figure"
    ),
    _arena("hmmt_feb_2025", "HMMT", 30),
    _arena("hmmt_feb_2026", "HMMT", 33),
    _arena("brumo_2025", "BRUMO", 30),
    _arena("smt_2025", "SMT", 53),
    Benchmark(
        name="omni_math", family="Omni-Math", rows=2821, samples=1, files=("omni_math_rule",),
        remedy="The rule subset is a file of the GitHub project KbsdJames/omni-math-rule; the hub set "
        "KbsdJames/Omni-MATH holds all 4,428 problems.",
    ),
    Benchmark(
        name="minerva", family="Minerva", rows=272, samples=1, hub="math-ai/minervamath", split="test",
        columns={"problem": "question"}, files=("minerva_math",),
    ),
    Benchmark(
        name="olympiadbench", family="OlympiadBench", rows=674, samples=1, hub="Hothan/OlympiadBench",
        config="OE_TO_maths_en_COMP", grader="answers", files=("olympiadbench_oe_to_maths_en_comp",),
        columns={"problem": "question", "answer": "final_answer"},
    ),
    *(_aime_variant("noop", "NoOp-AIME", year, 30, 16, _NOOP) for year in (2024, 2025, 2026)),
    *(
        _aime_variant("thinkbench", "ThinkBench-AIME", year, 120, 4, _THINKBENCH)
        for year in (2024, 2025, 2026)
    ),
    Benchmark(
        name="gpqa_diamond", family="GPQA-Diamond", rows=198, samples=24, hub="Idavidrein/gpqa",
        config="gpqa_diamond", columns=_GPQA_COLUMNS, grader="choice",
        remedy="The set is gated: accept its terms on the hub and log in, or give a local copy.",
    ),
    *(
        Benchmark(
            name=name, family=WORLD_FAMILY, samples=4, files=(f"test_{name}",),
            temperature=WORLD_TEMPERATURE, top_p=WORLD_TOP_P, max_tokens=WORLD_MAX_TOKENS,
        )
        for name in WORLD
    ),
)  # fmt: skip

BENCHMARKS = {benchmark.name: benchmark for benchmark in _ALL}


def _of(families: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.family in families)


SUITES = {
    "math": _of(MATH_FAMILIES),
    "ood": _of(OOD_FAMILIES),
    "paper": _of(MATH_FAMILIES + OOD_FAMILIES),
    "world": WORLD,
    **{family.lower(): _of((family,)) for family in (*MATH_FAMILIES, *OOD_FAMILIES)},
}
