"""`ScapoTrainer`: TRL's GRPOTrainer with token-level credit.

Two overrides carry the method: `_generate_and_score_completions` computes the outcome advantage and, while
lambda is on, the correction; `_compute_loss` adds lambda times the correction and hands over to TRL's own
loss (or to ours, for an objective that TRL lacks in the form needed). The others only time a stage, or save what a checkpoint needs in the middle of a rollout batch.

Shape suffixes: _N responses of this process, _A responses of all processes, _F reward functions.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor
from trl import GRPOTrainer

from scapo.algorithm import outcome_advantage
from scapo.algorithm.advantage import Std
from scapo.engines.summaries import dead_rows
from scapo.engines.trl import checkpoint, metrics
from scapo.engines.trl.checks import check_groups, check_inputs, check_kinds
from scapo.engines.trl.clock import StepClock
from scapo.engines.trl.config import ScapoConfig
from scapo.engines.trl.credit import Credit, Rollout
from scapo.engines.trl.objective import chosen_objective, own_loss
from scapo.engines.trl.probe import Probe
from scapo.engines.trl.registry import CREDITS
from scapo.engines.trl.runfiles import RunFiles
from scapo.engines.trl.shortcut import WORLD, shortcut_summary
from scapo.errors import ScapoError


class ScapoTrainer(GRPOTrainer):
    """GRPOTrainer whose advantages carry a correction per token (arXiv:2609.40360).

    Takes GRPOTrainer's arguments, with a `ScapoConfig`. The dataset needs one more column, by default
    `perturbations`, `{kind: text or chat messages}`; a missing kind is left out of the average. Reward
    functions keep TRL's signature. Evaluation passes are TRL's own and are never probed.
    """

    args: ScapoConfig

    def __init__(
        self, model: Any, reward_funcs: Any = None, args: ScapoConfig | None = None, **kwargs: Any
    ) -> None:
        if not isinstance(args, ScapoConfig):
            raise ScapoError(f"ScapoTrainer needs args=ScapoConfig(...), but got {type(args).__name__}.")
        check_inputs(args, kwargs)
        check_kinds(args, kwargs.get("train_dataset"))
        super().__init__(model, reward_funcs, args, **kwargs)
        if (args.scores_again or args.own_loss) and self._is_vlm:
            raise ScapoError(
                "This method works on text prompts only; for a vision-language model set credit='outcome' and "
                "objective='clipped'."
            )
        if args.own_loss and self.aux_loss_enabled:
            raise ScapoError(
                f"objective {args.objective!r} with credit {args.credit!r} has no load-balancing term; set "
                "router_aux_loss_coef to 0, or use objective 'clipped' with another credit."
            )
        self._objective = chosen_objective(args) if args.own_loss else None
        self.schedule = args.schedule
        self.credit: Credit = CREDITS[args.credit](args)
        self._probe = Probe(self) if args.probes else None
        self._seconds: dict[str, float] = {}
        self._scored: dict[str, Any] = {}
        self.sampled_tokens = 0
        self._data_fingerprint: str | None = None
        self.run_files = RunFiles(args.output_dir, self.schedule)
        self.add_callback(StepClock(self))
        if args.run_files:
            self.add_callback(self.run_files)

    # The method.

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.model.training:
            return super()._generate_and_score_completions(inputs)
        output = self._timed("score", super()._generate_and_score_completions, inputs)
        rollout = self._as_rollout(inputs, output)
        output["advantages"] = rollout.advantage_N
        if self.args.dead_groups == "drop":
            self._drop_dead_groups(output, rollout)
        output |= self.credit.after_rollout(self, rollout)
        if inputs[0].get(WORLD):
            given = self.credit.at_step(output, rollout.step)
            for name, value in shortcut_summary(self, rollout, given).items():
                self._metrics["train"][name].append(value)
        self._record(rollout)
        return output

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        if self.model.training:
            inputs = inputs | {"advantages": self.credit.at_step(inputs, self.state.global_step + 1)}
            if self._objective is not None:
                return own_loss(self, model, inputs, self._objective)
        return super()._compute_loss(model, inputs)

    def probe(self, rollout: Rollout) -> None:
        """Fill in the rollout's drift, stability and noise floor."""
        assert self._probe is not None
        self._timed("probe", self._probe.run, rollout)

    def _as_rollout(self, inputs: list[dict[str, Any]], output: dict[str, Any]) -> Rollout:
        reward_A = self._weighted_reward()
        group_A = torch.arange(len(reward_A), device=reward_A.device) // self.num_generations
        mine = slice(
            self.accelerator.process_index * len(inputs), (self.accelerator.process_index + 1) * len(inputs)
        )
        check_groups(inputs, group_A[mine])
        mask_NT = output["completion_mask"].bool()
        if "tool_mask" in output:
            mask_NT = mask_NT & output["tool_mask"].bool()
        prompt_ids = [
            ids[keep.bool()] for ids, keep in zip(output["prompt_ids"], output["prompt_mask"], strict=True)
        ]
        advantage_A = self._advantage(reward_A, group_A)
        return Rollout(
            step=self.state.global_step + 1,
            rows=inputs,
            prompt_ids=[ids.tolist() for ids in prompt_ids],
            completion_ids=self._scored["completion_ids"],
            mask_NT=mask_NT,
            group_N=group_A[mine],
            reward_N=reward_A[mine],
            advantage_N=output["advantages"] if advantage_A is None else advantage_A[mine],
            dead_N=dead_rows(reward_A, group_A)[mine],
            batch=output,
        )

    def _drop_dead_groups(self, output: dict[str, Any], rollout: Rollout) -> None:
        """DAPO's filter: rows of groups with one reward leave the loss, numerator and denominator alike."""
        keep_N1 = ~rollout.dead_N[:, None]
        rollout.mask_NT = rollout.mask_NT & keep_N1
        output["completion_mask"] = output["completion_mask"] * keep_N1
        output["num_items_in_batch"] = self.accelerator.gather(rollout.mask_NT.sum()).sum()

    def _weighted_reward(self) -> Tensor:
        """Reward of every response of all processes; NaN where no reward function gave one."""
        reward_AF = self._scored["reward_AF"]
        reward_A = (reward_AF * self.reward_weights.to(reward_AF.device)).nansum(dim=1)
        return reward_A.masked_fill(reward_AF.isnan().all(dim=1), torch.nan)

    def _advantage(self, reward_A: Tensor, group_A: Tensor) -> Tensor | None:
        """The paper's outcome advantage; None where the settings ask for one of TRL's other formulas."""
        args = self.args
        if args.advantage_eps is None or args.scale_rewards == "batch":
            return None
        if args.multi_objective_aggregation != "sum_then_normalize":
            return None
        scored = ~reward_A.isnan()
        advantage_A = torch.zeros_like(reward_A)
        std: Std = "unbiased" if args.scale_rewards == "group" else "none"
        advantage_A[scored] = outcome_advantage(reward_A[scored], group_A[scored], std, args.advantage_eps)
        return advantage_A

    # Timing and records.

    def _generate(self, prompts: list[Any]) -> Any:
        return self._timed("rollout", super()._generate, prompts)

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> Tensor:
        reward_AF = self._timed(
            "reward", super()._calculate_rewards, inputs, prompts, completions, completion_ids_list
        )
        self._scored = {
            "reward_AF": reward_AF,
            "completions": completions,
            "completion_ids": completion_ids_list,
            "logged": {name: list(values) for name, values in self._pending_extra_logs.items()},
        }
        return reward_AF

    def _timed(self, stage: str, function: Callable[..., Any], *args: Any) -> Any:
        started = time.perf_counter()
        result = function(*args)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - started
        return result

    def _record(self, rollout: Rollout) -> None:
        truncated = self._truncated(rollout.completion_ids)
        samples = gather_object(metrics.sample_rows(rollout, self._scored, truncated))
        self.sampled_tokens += sum(sample["tokens"] for sample in samples)
        found = metrics.rollout_summary(rollout, samples, self.schedule.at(rollout.step), self._gather_flat)
        for name, value in found.items():
            if isinstance(value, dict):
                self.run_files.extra[name] = value
            else:
                self._metrics["train"][name].append(value)
        self.run_files.write_samples(samples[: self.args.samples_per_rollout])
        metrics.warn(found, sum(s["truncated"] for s in samples) / len(samples))

    def _truncated(self, completion_ids: list[list[int]]) -> list[bool]:
        ends = {*self.eos_token_ids, self._tokenizer.pad_token_id}
        return [not ids or ids[-1] not in ends for ids in completion_ids]

    def _gather_flat(self, values_M: Tensor) -> Tensor:
        """Flat tensors of different lengths, joined over all processes."""
        if self.accelerator.num_processes == 1:
            return values_M
        padded = self.accelerator.pad_across_processes(values_M.float(), pad_index=torch.nan)
        gathered = self.accelerator.gather(padded)
        return gathered[~gathered.isnan()]

    # Checkpoints.

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint is True:
            last = checkpoint.last_complete(self.args.output_dir)
            if last is None:
                raise ScapoError(f"{self.args.output_dir} holds no complete checkpoint to resume from.")
            resume_from_checkpoint = str(last)
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{self.state.global_step}"
        used_up = self._step % (self.args.steps_per_generation * self.num_iterations) == 0
        rest = None if used_up else self._buffered_inputs
        checkpoint.save_state(self._place(folder), self._step, rest, self._fingerprint())
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint_dir: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint_dir)
        if checkpoint_dir is not None:
            place = self._place(Path(checkpoint_dir))
            self._step, rest = checkpoint.load_state(place, self._fingerprint(), self.args.device)
            self._buffered_inputs = rest  # type: ignore[assignment]

    def _place(self, folder: Path) -> checkpoint.Place:
        return checkpoint.Place(folder, self.args.process_index, self.args.world_size)

    def _fingerprint(self) -> str | None:
        if self._data_fingerprint is None:
            columns = ("prompt", "answer", self.args.perturbation_column)
            self._data_fingerprint = checkpoint.fingerprint(self.train_dataset, columns)
        return self._data_fingerprint
