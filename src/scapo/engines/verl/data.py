"""Problems as verl reads them: a Parquet file with one row per problem, rewrites included."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scapo.errors import ScapoError
from scapo.perturb.kinds import Kind
from scapo.problems import Problem, chat_prompt

PERTURBATIONS = "perturbations"
"""Column {kind: chat messages, null where a rewrite is missing}; verl carries it to every trajectory unchanged."""
REWARD_FUNCTION = "pkg://scapo.engines.verl.reward:compute_score"
COLUMNS = ("prompt", "data_source", "reward_model", "extra_info")


def verl_rows(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Rows with the columns verl expects, and the rewrites as whole prompts."""
    kinds = [kind.value for kind in Kind if any(kind.value in problem.perturbations for problem in problems)]
    return [_row(number, problem, kinds) for number, problem in enumerate(problems)]


def _row(number: int, problem: Problem, kinds: Iterable[str]) -> dict[str, Any]:
    texts = problem.perturbations
    rewrites = {kind: chat_prompt(texts[kind]) if kind in texts else None for kind in kinds}
    return {
        "data_source": "scapo",
        "prompt": chat_prompt(problem),
        **({PERTURBATIONS: rewrites} if rewrites else {}),
        "reward_model": {
            "style": "rule",
            "ground_truth": problem.answer,
            "function": REWARD_FUNCTION,
        },
        "extra_info": {"index": number, "id": problem.id},
    }


def write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write all rows, so that a reader sees the whole file or none."""
    from datasets import Dataset

    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    try:
        Dataset.from_list(list(rows)).to_parquet(partial)
        os.chmod(partial, 0o644)
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)


def check_training_file(path: Path, kinds: Sequence[str]) -> str:
    """What the file holds, as a sentence.

    Args:
        kinds: rewrites that the method probes; empty when it probes none.

    Raises:
        ScapoError: when it is no file made by `scapo problems to-verl`, or lacks all those rewrites.
    """
    from pyarrow import ArrowException, parquet

    if path.suffix != ".parquet" or not path.is_file():
        raise ScapoError(
            f"{path} is not a Parquet file. Make it with `scapo problems to-verl PROBLEMS.jsonl -o {path}`."
        )
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise ScapoError(f"{path} can't be read as Parquet: {error}.") from error
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise ScapoError(f"{path} has no column {', '.join(missing)}. Make it with `scapo problems to-verl`.")
    if not kinds:
        return f"{table.num_rows} problems from {path}"
    rewritten = sum(
        any((row or {}).get(kind) for kind in kinds)
        for row in (table.column(PERTURBATIONS).to_pylist() if PERTURBATIONS in table.column_names else [])
    )
    if not rewritten:
        raise ScapoError(
            f"No problem in {path} has a rewrite of the kinds {', '.join(kinds)}, which the method probes. Make "
            f"them with `scapo perturb`, then the file with `scapo problems to-verl`, or train GRPO with "
            "method.credit=outcome."
        )
    return f"{table.num_rows} problems from {path}, {rewritten} with rewrites"
