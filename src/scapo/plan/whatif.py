"""What K, N_0, prompt sharing and the batching of the probe change."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from scapo.plan.cost import BatchCost, RunCost, probe_phase, run_cost
from scapo.plan.setting import Setting

PERTURBATIONS = (0, 1, 2, 4, 8)
SHARES_OF_RUN = (0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One changed setting. probe_seconds: of a probed rollout batch; share: of that batch's time."""

    change: str
    probe_seconds: float
    share: float
    run: RunCost


def variants(setting: Setting, rest: BatchCost, early: BatchCost) -> list[Variant]:
    """The setting as given, then one change at a time.

    rest, early: the given setting's batches after and with the probe. No change touches anything but the probe.
    """
    return [_variant(change, changed, rest, early) for change, changed in _changes(setting)]


def _changes(setting: Setting) -> Iterator[tuple[str, Setting]]:
    yield "as given", setting
    for k in PERTURBATIONS:
        if k != setting.perturbations:
            yield f"K = {k}", replace(setting, perturbations=k)
    for share in SHARES_OF_RUN:
        n_0 = round(share * setting.steps)
        if n_0 != setting.n_0:
            yield f"N_0 = {n_0} ({100 * share:.0f} %)", replace(setting, n_0=n_0)
    if setting.share_prompts:
        yield "prompt pass per response", replace(setting, share_prompts=False)
    else:
        yield "prompt pass per group", replace(setting, share_prompts=True)
    if setting.rescore:
        yield "old log-probs as p0", replace(setting, rescore=False)
    else:
        yield "p0 scored again", replace(setting, rescore=True)
    rows = setting.probe_rows
    names = {
        "packed": "packed rows",
        "sorted": f"{rows} padded rows, sorted",
        "unsorted": f"{rows} padded rows, unsorted",
    }
    for padding, name in names.items():
        if padding != setting.padding:
            yield name, replace(setting, padding=padding)


def _variant(change: str, setting: Setting, rest: BatchCost, early: BatchCost) -> Variant:
    early = replace(early, probe=probe_phase(setting, setting.row_lengths(setting.early_mean)))
    run = run_cost(setting, rest, early)
    share = early.probe.seconds / early.seconds_probed
    return Variant(change=change, probe_seconds=early.probe.seconds, share=share, run=run)
