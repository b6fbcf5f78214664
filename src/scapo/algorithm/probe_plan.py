"""What the probe scores, and in which batches: plain Python over token ids.

Shape suffixes: _K perturbations, _N rows (responses), _T response positions, _U prompts of a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scapo.errors import ScapoError

Ids = tuple[int, ...]
Contexts = tuple[Ids, ...]


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """One response with the prompts under which it is scored, as token ids.

    clean: the original prompt. perturbed: its K rewrites, None where one is missing. response: the sampled
    ids, never re-encoded, with the EOS that ended it and without padding.
    """

    clean: Sequence[int]
    perturbed: Sequence[Sequence[int] | None]
    response: Sequence[int]

    @property
    def contexts(self) -> Contexts:
        """The original prompt, then K rewrites; the original stands in for a missing one, to keep shapes."""
        return tuple(tuple(self.clean if text is None else text) for text in (self.clean, *self.perturbed))


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Prompts that are run together, and chunks of their rows that are.

    prompts: U distinct contexts. width: the longest prompt among ALL their contexts, so that every context
    runs in the same shape. chunks: per forward call, pairs (row, index into prompts), longest first.
    """

    prompts: tuple[Contexts, ...]
    width: int
    chunks: tuple[tuple[tuple[int, int], ...], ...]


def check_rows(rows: Sequence[ProbeRow]) -> int:
    """The number K of perturbations that all rows agree on.

    Raises:
        ScapoError: without rows, with rows of different K, or with an empty prompt; it names the row.
    """
    if not rows:
        raise ScapoError("The probe was given no rows.")
    K = len(rows[0].perturbed)
    for number, row in enumerate(rows):
        if len(row.perturbed) != K:
            raise ScapoError(
                f"Probe row {number} has {len(row.perturbed)} perturbations and row 0 has {K}. "
                "Give every row the same kinds, with None for a missing one."
            )
        if not all(row.contexts):
            raise ScapoError(f"Probe row {number} has an empty prompt. A missing perturbation is None.")
    return K


def plan_batches(rows: Sequence[ProbeRow], batch_tokens: int) -> list[Batch]:
    """Batches of whole prompt groups, longest responses first; rows without a response are left out.

    Both the prompts of a batch and each chunk of its rows (prompt columns and response columns) hold at most
    `batch_tokens` padded tokens, unless a single one is longer.
    """
    members: dict[Contexts, list[int]] = {}
    for number, row in enumerate(rows):
        if row.response:
            members.setdefault(row.contexts, []).append(number)
    longest = {prompt: max(len(rows[n].response) for n in numbers) for prompt, numbers in members.items()}
    ordered = sorted(members, key=lambda prompt: longest[prompt], reverse=True)
    widths = [max(map(len, prompt)) for prompt in ordered]
    batches = []
    for start, stop in _runs(widths, batch_tokens):
        prompts, width = tuple(ordered[start:stop]), max(widths[start:stop])
        pairs = [(row, u) for u, prompt in enumerate(prompts) for row in members[prompt]]
        pairs.sort(key=lambda pair: len(rows[pair[0]].response), reverse=True)
        columns = [width + len(rows[row].response) for row, _ in pairs]
        chunks = tuple(tuple(pairs[a:b]) for a, b in _runs(columns, batch_tokens))
        batches.append(Batch(prompts=prompts, width=width, chunks=chunks))
    return batches


def _runs(sizes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut a sequence into (start, stop) runs whose count times largest size stays within `limit`."""
    runs, start, largest = [], 0, 0
    for position, size in enumerate(sizes):
        grown = max(largest, size)
        if position > start and grown * (position - start + 1) > limit:
            runs.append((start, position))
            start, grown = position, size
        largest = grown
    return [*runs, (start, len(sizes))] if sizes else []
