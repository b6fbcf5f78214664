"""`ScapoTrainer`: verl's synchronous trainer with one method more, the advantages.

Shape suffixes: _N trajectories of the batch (padding rows included), _R real ones, _T response tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from omegaconf import OmegaConf, open_dict
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.debug import marked_timer

from scapo.engines.summaries import reason_shares
from scapo.engines.verl import data_plane
from scapo.engines.verl.checks import check_method
from scapo.engines.verl.credit import Credited, Tools, credited
from scapo.engines.verl.data import PERTURBATIONS
from scapo.engines.verl.method import MethodSettings
from scapo.engines.verl.prompts import PromptTokens
from scapo.engines.verl.rollout import Rollout, steps_of_rows
from scapo.engines.verl.runlog import RunLog
from scapo.engines.verl.scoring import Ids
from scapo.engines.verl.settings import TRAINER

FIELDS = ("uid", "response_mask", "rm_scores", "old_log_probs", "entropy", "extra_fields")
SCORED = ("prompts", "responses", "raw_prompt", PERTURBATIONS)
"""Fields that are read only for a step that scores responses again."""

check_method()


@register_trainer(TRAINER)
class ScapoTrainer(PPOTrainerSync):
    """verl's rollouts, log-probs and updates with the advantages of `scapo.algorithm`.

    Every step of verl feeds `updates` optimiser steps; its advantages are decided once, with the lambda of the
    optimiser step in which each row is used. Without a probe to make nothing is scored.
    """

    def __init__(self, config: Any) -> None:
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # the base class compares this name
        self.method = MethodSettings.of(OmegaConf.to_container(config.scapo.method, resolve=True))
        super().__init__(config)

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._compute_advantage(batch, metrics)
        scores_again = self.method.credit == "cf_grpo" or self.method.schedule.at(self._first_step) > 0
        with marked_timer("probe" if scores_again else "credit", self.timing_raw, color="brown"):
            # After super: rollout correction may have cleared places of the mask.
            fields = data_plane.read(batch, FIELDS + (SCORED if scores_again else ()))
            real = [n for n, made_up in enumerate(data_plane.padding_rows(batch)) if not made_up]
            rollout = self._rollout(fields, real, len(batch.keys))
            if scores_again:
                self._add_ids(rollout, fields, real)
            found = credited(rollout, self._tools())
        metrics.update(found.metrics | _reasons([fields["extra_fields"][n] for n in real]))
        return data_plane.write(batch, *_as_fields(fields, real, found))

    @property
    def _first_step(self) -> int:
        """The first optimiser step (from 1) of the rollout at hand."""
        return (self.global_steps - 1) * self._updates + 1

    @property
    def _updates(self) -> int:
        actor = self.config.actor_rollout_ref.actor
        return int(self.config.data.train_batch_size // actor.ppo_mini_batch_size * actor.ppo_epochs)

    def _rollout(self, fields: dict[str, list[Any]], real: list[int], rows: int) -> Rollout:
        def of(name: str) -> list[Any]:
            return [fields[name][n] for n in real]

        groups = {uid: number for number, uid in enumerate(dict.fromkeys(of("uid")))}
        return Rollout(
            step_N=self._steps(rows)[real],
            group_N=torch.tensor([groups[uid] for uid in of("uid")]),
            reward_N=torch.stack([scores.float().sum() for scores in of("rm_scores")]),
            mask_NT=pad_sequence([mask.bool() for mask in of("response_mask")], batch_first=True),
            logp_NT=pad_sequence([logp.float() for logp in of("old_log_probs")], batch_first=True),
            entropy_NT=pad_sequence([entropy.float() for entropy in of("entropy")], batch_first=True),
        )

    def _add_ids(self, rollout: Rollout, fields: dict[str, list[Any]], real: list[int]) -> None:
        rollout.prompt_ids = [fields["prompts"][n].tolist() for n in real]
        rollout.response_ids = [fields["responses"][n].tolist() for n in real]
        if self.method.probes:
            prompts, found = ([fields[name][n] for n in real] for name in ("raw_prompt", PERTURBATIONS))
            rollout.rewrites = self._rewrites(rollout, prompts, found)

    def _steps(self, rows: int) -> Tensor:
        """The optimiser step that each row feeds; the first one for all where verl shuffles (checks.py)."""
        actor = self.config.actor_rollout_ref.actor
        if actor.shuffle or actor.ppo_epochs > 1:
            return torch.full((rows,), self._first_step)
        update_rows = actor.ppo_mini_batch_size * self.config.actor_rollout_ref.rollout.n
        return steps_of_rows(self._first_step, rows, data_plane.ranks(self.actor_rollout_wg), update_rows)

    def _rewrites(
        self, rollout: Rollout, prompts: list[Any], perturbations: list[Any]
    ) -> list[list[Ids | None]]:
        tokens = PromptTokens(self.tokenizer, self.config.data)
        by_group: dict[int, list[Ids | None]] = {}
        for n, group in enumerate(rollout.group_N.tolist()):
            if group not in by_group:
                tokens.check(prompts[n], rollout.prompt_ids[n])
                found = perturbations[n] or {}
                by_group[group] = [tokens.rewrite(found.get(kind)) for kind in self.method.probed_kinds]
        return [by_group[group] for group in rollout.group_N.tolist()]

    def _tools(self) -> Tools:
        return Tools(
            method=self.method, score=self._score, tokenizer=self.tokenizer, seed=self.config.data.seed or 0
        )

    def _score(self, sequences: Sequence[tuple[Ids, Ids]]) -> list[Tensor]:
        rollout = self.config.actor_rollout_ref.rollout
        return data_plane.response_logprobs(
            self.actor_rollout_wg,
            sequences,
            temperature=rollout.temperature,
            micro_batch=None
            if rollout.log_prob_use_dynamic_bsz
            else rollout.log_prob_micro_batch_size_per_gpu,
        )

    # verl's tracker, with our own metrics.jsonl beside it.

    @property
    def logger(self) -> RunLog:
        return self._run_log

    @logger.setter
    def logger(self, tracking: Any) -> None:
        self._run_log = RunLog(
            tracking, self.config.scapo.output, self.method.schedule, self._updates, self.global_steps
        )


def _reasons(extra_fields: list[Any]) -> dict[str, float]:
    """Share of responses per reason of the reward (reward.py)."""
    return reason_shares([(extra.get("reward_extra_info") or {}).get("reason") for extra in extra_fields])


def _as_fields(
    fields: dict[str, list[Any]], real: list[int], found: Credited
) -> tuple[dict[str, Tensor], list[int]]:
    """The advantages of all rows, zeros for padding rows, and the mask where the credit has changed it."""
    lengths = [len(mask) for mask in fields["response_mask"]]
    mask_NT = pad_sequence([mask.bool() for mask in fields["response_mask"]], batch_first=True)
    advantage_NT = torch.zeros(mask_NT.shape)
    T = found.advantage_NT.shape[1]
    advantage_NT[real, :T] = found.advantage_NT
    out = {"advantages": advantage_NT}
    if not torch.equal(mask_NT[real, :T], found.mask_NT):
        mask_NT[real, :T] = found.mask_NT
        kind = fields["response_mask"][0].dtype
        out |= {"response_mask": mask_NT.to(kind), "loss_mask": mask_NT.to(kind)}
    return out, lengths
