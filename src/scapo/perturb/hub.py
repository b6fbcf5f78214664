"""Push an output to a data-set hub with a card, and pull it back as the same file."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scapo import __version__
from scapo.errors import ScapoError
from scapo.files import read_jsonl, write_jsonl
from scapo.perturb.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from datasets import Dataset

AS_TEXT = ("provenance", "absent")
"""Columns whose keys differ from row to row: stored as JSON text, since a Parquet column has one shape."""


def push(out: Path, repository: str) -> str:
    """Create or update a private data set from an output; returns its address. Raises ScapoError offline."""
    from huggingface_hub import DatasetCard, HfApi, constants

    rows = [row for _, row in read_jsonl(out)]
    if not rows or "perturbations" not in rows[0]:
        raise ScapoError(f"{out} holds no rows written by `scapo perturb`. Make it first, then push it.")
    data = to_dataset(rows)
    with hub_errors(repository):
        HfApi().whoami()  # the shortest way to hear that there is no network or no token
        data.push_to_hub(repository, private=True)
        card = DatasetCard.load(repository)  # keeps the description of the files that the push wrote there
        card.data.tags = ["scapo", "semifactual", "math", "rlvr"]
        card.text = card_text(rows, repository)
        card.push_to_hub(repository)
    return f"{constants.ENDPOINT}/datasets/{repository}"


def pull(repository: str, out: Path) -> int:
    """Write a pushed data set as the file it was made from; returns the number of rows."""
    from datasets import load_dataset

    with hub_errors(repository):
        data = load_dataset(repository, split="train")
    rows = from_dataset(data, repository)
    write_jsonl(out, rows)
    return len(rows)


@contextmanager
def hub_errors(repository: str) -> "Iterator[None]":
    """Whatever keeps the hub from answering, as a sentence."""
    from huggingface_hub.errors import LocalTokenNotFoundError

    try:
        yield
    except LocalTokenNotFoundError as error:
        raise ScapoError("The hub needs a token: run `hf auth login`, or set HF_TOKEN.") from error
    except Exception as error:  # the hub's libraries raise many unrelated types for network and access errors
        raise ScapoError(
            f"The hub could not be used for {repository} ({type(error).__name__}: {error}). "
            "Check the network, the name and your access; the file here is unchanged."
        ) from error


def to_dataset(rows: list[dict[str, Any]]) -> "Dataset":
    """Rows as a data set: every kind is a field of `perturbations`, null where it is absent."""
    from datasets import Dataset

    columns = dict.fromkeys(name for row in rows for name in row)
    table = {name: [_cell(name, row.get(name)) for row in rows] for name in columns}
    try:
        return Dataset.from_dict(table)
    except Exception as error:  # pyarrow has its own family of errors
        raise ScapoError(f"A column has values of several types and fits no data set: {error}.") from error


def _cell(name: str, value: Any) -> Any:
    if name == "perturbations":
        return {str(kind): (value or {}).get(kind) for kind in Kind}
    return json.dumps(value, ensure_ascii=False) if name in AS_TEXT else value


def from_dataset(data: "Dataset", repository: str) -> list[dict[str, Any]]:
    """The rows as they were before `to_dataset`, except that a column missing in one row is null there."""
    missing = {"problem", "perturbations", *AS_TEXT} - set(data.column_names)
    if missing:
        raise ScapoError(
            f"{repository} was not pushed by `scapo perturb`: it has no {', '.join(sorted(missing))}."
        )
    return [_restored(dict(row)) for row in data]


def _restored(row: dict[str, Any]) -> dict[str, Any]:
    made = {kind: text for kind, text in row["perturbations"].items() if text is not None}
    return {**row, "perturbations": made, **{name: json.loads(row[name]) for name in AS_TEXT}}


def card_text(rows: Iterable[dict[str, Any]], repository: str) -> str:
    """The card: what the rows are, counts by kind, who made them, how to use them."""
    rows = list(rows)
    makers = Counter(
        (entry.get("generator", "?"), entry.get("model", ""), str(entry.get("version", "")))
        for row in rows
        for entry in row["provenance"].values()
    )
    lines = [f"| {' '.join(filter(None, maker))} | {count:,} |" for maker, count in makers.most_common()]
    counts = "\n".join(_count_line(rows, kind) for kind in Kind)
    return f"""# {repository.rpartition("/")[2]}

{len(rows):,} problems with answer-preserving rewrites ("semifactual perturbations") for Semifactual
Credit-Augmented Policy Optimization (SCAPO, arXiv:2609.40360), written by `scapo perturb` {__version__}.
Every text in `perturbations` passed the checks of that version; refused texts stand in `absent` with their
reason and must not be used.

| kind | made | none | refused |
|---|---|---|---|
{counts}

| made by | texts |
|---|---|
{chr(10).join(lines)}

`provenance` and `absent` are JSON texts. `scapo perturb --pull-from {repository} -o FILE.jsonl` restores the
file.
The problems keep the licence of the data set they came from.
"""


def _count_line(rows: list[dict[str, Any]], kind: Kind) -> str:
    absent = Counter(row["absent"][kind]["status"] for row in rows if kind in row["absent"])
    made = sum(kind in row["perturbations"] for row in rows)
    return f"| {kind} | {made:,} | {absent['none']:,} | {absent['refused']:,} |"
