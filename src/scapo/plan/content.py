"""Everything that `scapo plan` worked out, as one JSON object. Seconds, bytes, FLOPs; shares in [0, 1]."""

from dataclasses import asdict
from typing import Any

from scapo.plan.cost import BatchCost, RunCost, batch_cost, memory, run_cost
from scapo.plan.memory import RolloutMemory, TrainMemory
from scapo.plan.paper import OTHER, PROBE, ROLLOUT, UPDATE, checks
from scapo.plan.setting import Setting
from scapo.plan.whatif import variants


def plan_content(setting: Setting) -> dict[str, Any]:
    rest = batch_cost(setting)
    early = rest if setting.early_mean is None else batch_cost(setting, setting.early_mean)
    train, sampling = memory(setting)
    lengths = None if setting.lengths is None else str(setting.lengths)
    return {
        "kind": "plan",
        "setting": asdict(setting) | {"lengths": lengths, "micro_tokens": setting.micro_batch},
        "parameters": setting.shape.params,
        "probed_batch": _batch(early),
        "other_batch": _batch(rest),
        "run": _run(run_cost(setting, rest, early)),
        "memory": {"limit": setting.gpu.memory, "update": _train(train), "rollout": _sampling(sampling)},
        "what_if": [
            {
                "change": one.change,
                "probe_seconds": one.probe_seconds,
                "share": one.share,
                "run": _run(one.run),
            }
            for one in variants(setting, rest, early)
        ],
    }


def paper_content() -> dict[str, Any]:
    paper = {"rollout": ROLLOUT, "update": UPDATE, "probe": PROBE, "other": OTHER}
    paper |= {"rollout_per_update": ROLLOUT / UPDATE, "probe_per_update": PROBE / UPDATE}
    return {"kind": "plan_against_paper", "paper": paper, "model": [asdict(one) for one in checks()]}


def _batch(cost: BatchCost) -> dict[str, Any]:
    return asdict(cost) | {"seconds": cost.seconds, "seconds_probed": cost.seconds_probed}


def _run(cost: RunCost) -> dict[str, Any]:
    return asdict(cost) | {"seconds": cost.seconds, "added": cost.added}


def _train(cost: TrainMemory) -> dict[str, Any]:
    return asdict(cost) | {"total": cost.total, "total_whole_logits": cost.total_whole_logits}


def _sampling(cost: RolloutMemory) -> dict[str, Any]:
    return asdict(cost) | {"total": cost.total}
