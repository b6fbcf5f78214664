"""The model against the one breakdown that the paper publishes (figure 5, the 4B run).

The paper gives shares of the whole run: rollout 52.7 %, update 18.7 %, other 26.7 %, probing and credit 1.8 %. It
names neither the GPUs nor the response lengths, so shares are compared over a range of both. "Other" is taken from
the paper: old log-probs, rewards, weight transfer, validation, checkpoints.
"""

from dataclasses import dataclass

from scipy.optimize import brentq

from scapo.plan.cost import batch_cost, probe_phase, run_cost, update_phase
from scapo.plan.hardware import GPUS
from scapo.plan.model_shape import SHAPES
from scapo.plan.setting import Setting

ROLLOUT, UPDATE, OTHER, PROBE = 0.527, 0.187, 0.267, 0.018
GPU_NAMES = ("a100-80gb", "h100", "h200")
MEANS = (1_000, 2_000, 4_000, 8_000)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A-priori prediction for one GPU and mean length.

    rollout, update, probe: shares of a run of which OTHER is something else. early_length: the one fitted number,
    the mean response length of the probed steps over that of the others that makes probe / update the paper's.
    """

    gpu: str
    mean: float
    rollout: float
    update: float
    probe: float
    rollout_per_update: float
    probe_per_update: float
    early_length: float


def paper_setting(gpu: str, mean: float) -> Setting:
    return Setting(shape=SHAPES["qwen3-4b"], gpu=GPUS[gpu], gpus=8, mean=mean)


def check(gpu: str, mean: float) -> Check:
    setting = paper_setting(gpu, mean)
    rest = batch_cost(setting)
    run = run_cost(setting, rest)

    later = run.batches - run.probed

    def excess(ratio: float) -> float:
        lengths = setting.row_lengths(ratio * mean)
        probe = run.probed * probe_phase(setting, lengths).seconds
        update = run.probed * update_phase(setting, lengths).seconds + later * rest.update.seconds
        return probe / update - PROBE / UPDATE

    second = (1 - OTHER) / (run.rollout + run.update + run.probe)
    return Check(
        gpu=gpu,
        mean=mean,
        rollout=run.rollout * second,
        update=run.update * second,
        probe=run.probe * second,
        rollout_per_update=run.rollout / run.update,
        probe_per_update=run.probe / run.update,
        early_length=float(brentq(excess, 0.05, 1.0, xtol=1e-3)),
    )


def checks() -> list[Check]:
    return [check(gpu, mean) for gpu in GPU_NAMES for mean in MEANS]
