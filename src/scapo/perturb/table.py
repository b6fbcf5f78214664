"""The tables that the command prints when it ends."""

from collections import Counter

from rich.table import Table

from scapo.perturb.kinds import Kind
from scapo.perturb.run import STATUSES, Summary


def summary_table(summary: Summary) -> Table:
    """Kind x made / none / refused; each row adds up to the number of problems."""
    table = Table(title=f"{summary.rows:,} problems")
    table.add_column("kind", no_wrap=True)
    for name in STATUSES:
        table.add_column(name, justify="right")
    table.add_column("made by")
    table.add_column("why not (most frequent)")
    for kind, counts in summary.by_kind.items():
        numbers = [f"{counts[name]:,}" for name in STATUSES]
        table.add_row(
            str(kind), *numbers, _frequent(summary.generators, kind), _frequent(summary.reasons, kind)
        )
    return table


def _frequent(counts: Counter[tuple[Kind, str]], kind: Kind, most: int = 3) -> str:
    return ", ".join([f"{name} {count:,}" for (k, name), count in counts.most_common() if k == kind][:most])
