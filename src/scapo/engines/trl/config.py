"""`ScapoConfig`: TRL's GRPOConfig with the paper's defaults and the few settings that SCAPO adds."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from trl import GRPOConfig

from scapo.engines.methods import (
    CHOICES,
    MethodProperties,
    check_credit_constants,
    check_kinds,
    plain_constants,
)
from scapo.engines.trl.objective import check_own_loss, chosen_objective
from scapo.errors import ScapoError

TOKEN_REDUCTIONS = ("dapo", "grpo", "bnpo", "dr_grpo")
"""TRL's `loss_type` values of the clipped token objective; they differ only in how tokens are averaged."""


def _option(default: Any, text: str) -> Any:
    """A dataclass field with its help text, as TRL's command-line parser wants it."""
    return field(default=default, metadata={"help": text})


@dataclass
class ScapoConfig(MethodProperties, GRPOConfig):
    """Settings of `ScapoTrainer`. Every GRPOConfig field works; the defaults changed here are the paper's.

    The credit (what a token gets) and the objective (how it is optimised) are chosen apart:
    `credit="outcome"` is GRPO, and so is `lambda_0=0`, bit for bit, without any probing.

    Raises ScapoError, before any model is loaded, for settings that contradict each other or the method.
    """

    # The paper's optimiser and objective, where TRL's defaults differ.
    lr_scheduler_type: str = _option("constant", "Learning rate schedule.")
    weight_decay: float = _option(0.01, "AdamW weight decay.")
    epsilon_high: float | None = _option(0.28, "Upper clip of the ratio (clip-higher).")
    delta: float | None = _option(10.0, "Dual clip: bound of the ratio where the advantage is negative.")
    logging_steps: float = _option(1, "Optimiser steps between two rows of metrics.jsonl.")

    _VALID_DICT_FIELDS: ClassVar[list[str]] = [  # type: ignore[misc]
        *GRPOConfig._VALID_DICT_FIELDS,
        "objective_constants",
        "credit_constants",
    ]

    credit: str = _option(
        "semifactual", "'semifactual' (SCAPO), 'outcome' (GRPO), 'cf_grpo', 'fipo' or 'entropy_top'."
    )
    objective: str = _option(
        "clipped", "'clipped' (ratio clip with dual clip), 'gspo' or 'sapo', averaged by `loss_type`."
    )
    objective_constants: dict[str, Any] | str | None = field(
        default=None,
        metadata={
            "help": "Constants of 'gspo' (clip_low, clip_high) or 'sapo' (tau_positive, tau_negative)."
        },
    )
    credit_constants: dict[str, Any] | str | None = field(
        default=None,
        metadata={"help": "Constants of the credits 'cf_grpo', 'fipo', 'entropy_top' (docs/methods.md)."},
    )
    lambda_0: float = _option(0.01, "Weight of the correction while it is on.")
    n_0: int = _option(120, "Optimiser steps, counted from 1, with the correction on; 0 afterwards.")
    sign: str = _option(
        "negative", "Part of the stability that counts: 'negative' (SCAPO), 'all' or 'positive'."
    )
    source: str = _option("aligned", "'aligned' (SCAPO), or the ablations 'shuffled' and 'counterfactual'.")
    kinds: list[str] | None = field(
        default=None, metadata={"help": "Perturbation kinds to probe; all four semifactual ones when unset."}
    )
    dead_groups: str = _option(
        "keep",
        "Groups of equal rewards: 'keep' corrects them, 'skip' does not, 'drop' (DAPO) takes them out.",
    )
    advantage_eps: float | None = _option(
        1e-6, "Added to the std of the rewards; unset keeps TRL's own advantages (1e-4)."
    )
    perturbation_column: str = _option("perturbations", "Dataset column with {kind: text or chat messages}.")
    problem_column: str = _option("problem", "Dataset column with the bare problem text inside the prompt.")
    probe_tokens: int | None = _option(
        None, "Padded tokens per forward pass of the probe; by device when unset."
    )
    noise_rows: int = _option(8, "Responses scored again per rollout for the noise floor; 0 switches it off.")
    run_files: bool = _option(True, "Write metrics.jsonl and samples.jsonl to `output_dir`.")
    samples_per_rollout: int | None = _option(
        None, "Responses written to samples.jsonl per rollout; all when unset."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choices()
        self._check_objective()
        self._check_engine()
        if self.scores_again:
            self._check_probe()

    @property
    def own_loss(self) -> bool:
        """Whether the loss is our `policy_loss`; else it is TRL's."""
        return self.objective != "clipped" or self.credit == "fipo"

    @property
    def updates_per_rollout(self) -> int:
        """Optimiser steps that one batch of responses feeds (2 in the paper's runs)."""
        return max(1, self.steps_per_generation * self.num_iterations // self.gradient_accumulation_steps)

    def _check_choices(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ScapoError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}.")
        check_kinds(self.kinds)
        _ = self.schedule  # LambdaSchedule checks lambda_0 and n_0

    def _check_objective(self) -> None:
        if self.loss_type not in TOKEN_REDUCTIONS:
            raise ScapoError(
                f"objective is {self.objective!r}, but loss_type is {self.loss_type!r}, an objective of its own. "
                f"Set loss_type to one of {', '.join(map(repr, TOKEN_REDUCTIONS))} ('dapo' is the paper's token "
                "mean), and choose the objective by objective=... ('clipped', 'gspo', 'sapo')."
            )
        if self.importance_sampling_level != "token":
            raise ScapoError(
                f"objective is {self.objective!r}, whose ratio has a form per token, but "
                f"importance_sampling_level is {self.importance_sampling_level!r}. Leave it at 'token'; GSPO is "
                "objective='gspo'."
            )
        self._check_constants()
        if self.own_loss:
            check_own_loss(self)
        if self.objective == "clipped" and self.delta is not None and self.delta <= 1 + self.epsilon_high:
            raise ScapoError(
                f"delta (dual clip) is {self.delta}, not above the upper clip 1 + epsilon_high = "
                f"{1 + self.epsilon_high:g}; no ratio would be left unclipped in between. The paper uses 10."
            )

    def _check_constants(self) -> None:
        if self.objective == "clipped" and self.objective_constants:
            raise ScapoError(
                "objective 'clipped' takes its constants from epsilon, epsilon_high and delta (dual clip); set "
                "those instead of objective_constants."
            )
        chosen_objective(self)  # names unknown constants
        check_credit_constants(self.credit, plain_constants(self.credit_constants))

    def _check_engine(self) -> None:
        window, rollout = self.gradient_accumulation_steps, self.steps_per_generation * self.num_iterations
        if window % rollout and rollout % window:
            raise ScapoError(
                f"One rollout batch is used in {rollout} micro-batches (steps_per_generation x "
                f"num_iterations) and an optimiser step takes {window} (gradient_accumulation_steps). One "
                "must divide the other, so that every step sees whole rollouts."
            )
        if self.use_transformers_continuous_batching:
            raise ScapoError(
                "use_transformers_continuous_batching is not supported: with bf16 it leaves the trained "
                "parameters in bf16. Use the default generation, or use_vllm on a GPU."
            )
        if self.use_liger_kernel:
            raise ScapoError(
                "use_liger_kernel is not supported: it swaps the model's layers after the trainer has "
                "patched them. TRL's fused head already avoids the full logits; for fast layers set "
                "model_init_kwargs={'use_kernels': True}."
            )

    def _check_probe(self) -> None:
        if not self.temperature > 0:
            raise ScapoError(f"temperature is {self.temperature}; probing needs log-probs at one above 0.")
        if self.probe_tokens is not None and self.probe_tokens < 1:
            raise ScapoError(f"probe_tokens is {self.probe_tokens}; it must be 1 or more, or unset.")
        if self.noise_rows < 0:
            raise ScapoError(f"noise_rows is {self.noise_rows}; it must be 0 or more.")
        zero3 = self.deepspeed_plugin is not None and self.deepspeed_plugin.zero_stage == 3
        if zero3 or self.fsdp:
            raise ScapoError(
                "Probing reads the language-model head as one tensor, which FSDP and DeepSpeed ZeRO-3 split "
                "over processes. Use plain data parallelism or ZeRO-2 here, or the verl engine for sharded "
                "models."
            )


def field_names() -> list[str]:
    """Every setting that a recipe's `trainer` section may hold."""
    return [item.name for item in fields(ScapoConfig) if item.init]
