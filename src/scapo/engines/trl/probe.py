"""Probing after a rollout: what the dataset's rewrites do to the responses' probabilities.

Shape suffixes: _K perturbations, _N responses of this process, _A responses of all processes, _T tokens.
"""

from typing import Any

import torch
from torch import Tensor

from scapo.algorithm import group_stability
from scapo.algorithm.probe import response_logprobs
from scapo.algorithm.probe_plan import ProbeRow
from scapo.engines.trl.credit import Rollout
from scapo.engines.trl.prompts import perturbed_prompt


class Probe:
    """Scores a rollout's responses with the training model, in one code path for all prompts.

    Clean and perturbed log-probs come from the same weights, dtype, batching and temperature, over the whole
    vocabulary (also when the responses were sampled with top-p or by vLLM): so an identical prompt has d = 0.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.args = trainer.args
        self.kinds = trainer.args.probed_kinds

    def run(self, rollout: Rollout) -> None:
        """Fill in drift (mean over the kinds present), u and the noise floor of a rollout."""
        drift_KNT, present_KN = self._drift(rollout)
        present_KN1 = present_KN[:, :, None]
        total_NT = torch.where(present_KN1, drift_KNT, 0.0).sum(dim=0)
        rollout.drift_NT = total_NT / present_KN1.sum(dim=0).clamp(min=1)
        rollout.probed_N = present_KN.any(dim=0)
        rollout.u_NT = self._stability(drift_KNT, rollout, present_KN)

    def _drift(self, rollout: Rollout) -> tuple[Tensor, Tensor]:
        """(K, N, T) drift, and which perturbations each row has; rows without a counted token are skipped."""
        prompts_KN = [self._perturbed_ids(rollout, kind) for kind in self.kinds]
        counted = rollout.mask_NT.any(dim=1).tolist()
        rows = [
            ProbeRow(clean=clean, perturbed=perturbed, response=response if keep and any(perturbed) else ())
            for clean, response, keep, *perturbed in zip(
                rollout.prompt_ids, rollout.completion_ids, counted, *prompts_KN, strict=True
            )
        ]
        noise_rows = self.args.noise_rows if any(row.response for row in rows) else 0
        with self.trainer.accelerator.autocast():
            found = response_logprobs(
                self.trainer.accelerator.unwrap_model(self.trainer.model),
                rows,
                temperature=self.args.temperature,
                batch_tokens=self.args.probe_tokens,
                noise_rows=noise_rows,
            )
        rollout.noise_M = found.noise_drift
        drift_KNT = rollout.mask_NT.new_zeros((len(self.kinds), *rollout.mask_NT.shape), dtype=torch.float32)
        drift_KNT[:, :, : found.mask.shape[1]] = found.drift
        return drift_KNT, found.present

    def _perturbed_ids(self, rollout: Rollout, kind: str) -> list[list[int] | None]:
        """Ids of each row's prompt rewritten as `kind`, tokenised as TRL does the original; None: absent."""
        groups = rollout.group_N.tolist()
        row_of = dict(zip(reversed(groups), reversed(rollout.rows), strict=True))
        columns = self.args.perturbation_column, self.args.problem_column
        prompts = {group: perturbed_prompt(row, kind, *columns) for group, row in row_of.items()}
        have = [group for group, prompt in prompts.items() if prompt is not None]
        ids = self.trainer._tokenize_prompts([prompts[group] for group in have])[0] if have else []
        by_group = dict(zip(have, ids, strict=True))
        return [by_group.get(group) for group in groups]

    def _stability(self, drift_KNT: Tensor, rollout: Rollout, present_KN: Tensor) -> Tensor:
        """u of this process's rows; a group that straddles processes is standardised over all its tokens."""
        N, T = rollout.mask_NT.shape
        if N % self.trainer.num_generations == 0:  # every group is whole here, and so it is on every process
            return group_stability(drift_KNT, rollout.mask_NT, rollout.group_N, present_KN)
        accelerator = self.trainer.accelerator
        drift_NKT = accelerator.pad_across_processes(drift_KNT.transpose(0, 1).contiguous(), dim=2)
        mask_NT = accelerator.pad_across_processes(rollout.mask_NT.long(), dim=1)
        drift_AKT, mask_AT, group_A, present_AK = (
            accelerator.gather(x)
            for x in (drift_NKT, mask_NT, rollout.group_N, present_KN.T.contiguous().long())
        )
        u_AT = group_stability(drift_AKT.transpose(0, 1), mask_AT, group_A, present_AK.T)
        start = accelerator.process_index * N
        return u_AT[start : start + N, :T]
