"""Probing after a rollout: the same response tokens scored under the original and every perturbed prompt.

Shape suffixes: _K perturbations, _N responses of this process, _A responses of all processes, _T tokens.
"""

from typing import Any

import torch
from torch import Tensor

from scapo.algorithm import group_stability, probability_drift, selected_logprobs
from scapo.engines.trl.credit import Rollout
from scapo.engines.trl.prompts import Prompt, perturbed_prompt


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
        ids_K, present_KN = self._perturbed_ids(rollout)
        clean_NT, perturbed_KNT, floor_NT = self._logprobs(rollout, ids_K)
        drift_KNT = probability_drift(clean_NT, perturbed_KNT)
        weight_KN1 = present_KN[:, :, None].float()
        rollout.drift_NT = (drift_KNT * weight_KN1).sum(dim=0) / weight_KN1.sum(dim=0).clamp(min=1.0)
        rollout.probed_N = present_KN.any(dim=0)
        rollout.u_NT = self._stability(drift_KNT, rollout, present_KN)
        if floor_NT is not None:
            rollout.floor_NT = probability_drift(clean_NT, floor_NT[None])[0]

    def _perturbed_ids(self, rollout: Rollout) -> tuple[list[list[list[int]]], Tensor]:
        """Token ids of each row's perturbed prompts, and which exist; an absent one holds the clean prompt."""
        groups = rollout.group_N.tolist()
        first = dict(zip(reversed(groups), reversed(rollout.rows), strict=True))
        ids_K, present_KN = [], []
        for kind in self.kinds:
            prompts = {g: self._prompt(row, kind) for g, row in first.items()}
            have = [g for g, prompt in prompts.items() if prompt is not None]
            ids = dict(zip(have, self._tokenize([prompts[g] for g in have]), strict=True))
            ids_K.append([ids.get(g, clean) for g, clean in zip(groups, rollout.prompt_ids, strict=True)])
            present_KN.append([g in ids for g in groups])
        return ids_K, torch.tensor(present_KN, device=rollout.group_N.device)

    def _prompt(self, row: dict[str, Any], kind: str) -> Prompt | None:
        return perturbed_prompt(row, kind, self.args.perturbation_column, self.args.problem_column)

    def _tokenize(self, prompts: list[Any]) -> list[list[int]]:
        """Exactly as TRL tokenises the original prompts."""
        return self.trainer._tokenize_prompts(prompts)[0] if prompts else []

    def _logprobs(self, rollout: Rollout, ids_K: list[list[list[int]]]) -> tuple[Tensor, Tensor, Tensor | None]:
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        views = [rollout.prompt_ids, *ids_K] + ([rollout.prompt_ids] if self.args.noise_floor else [])
        training = model.training
        model.eval()
        try:
            with torch.no_grad(), self.trainer.accelerator.autocast():
                logp = torch.stack([self._score(model, view, rollout) for view in views])
        finally:
            model.train(training)
        K = len(ids_K)
        return logp[0], logp[1 : K + 1], logp[K + 1] if self.args.noise_floor else None

    def _score(self, model: Any, prompts: list[list[int]], rollout: Rollout) -> Tensor:
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        backbone, head = getattr(base, base.base_model_prefix), base.get_output_embeddings()
        out_NT = torch.zeros(rollout.mask_NT.shape, device=rollout.mask_NT.device)
        for start in range(0, len(prompts), self.args.per_device_train_batch_size):
            rows = range(start, min(len(prompts), start + self.args.per_device_train_batch_size))
            full = [prompts[i] + rollout.completion_ids[i] for i in rows]
            width = max(map(len, full))
            ids = torch.tensor([[0] * (width - len(f)) + f for f in full], device=out_NT.device)
            mask = torch.tensor([[0] * (width - len(f)) + [1] * len(f) for f in full], device=out_NT.device)
            position = (mask.cumsum(dim=1) - 1).clamp(min=0)
            hidden = backbone(
                input_ids=ids, attention_mask=mask, position_ids=position, use_cache=False
            ).last_hidden_state
            for i, f in zip(rows, range(len(full)), strict=True):
                n = len(rollout.completion_ids[i])
                out_NT[i, :n] = selected_logprobs(
                    hidden[f, -n - 1 : -1], head.weight, ids[f, -n:], self.args.temperature
                )
        return out_NT

    def _stability(self, drift_KNT: Tensor, rollout: Rollout, present_KN: Tensor) -> Tensor:
        """u of this process's rows; a group that straddles processes is standardised over all its tokens."""
        accelerator, N, T = self.trainer.accelerator, *rollout.mask_NT.shape
        if N % self.trainer.num_generations == 0:  # every group is whole here, and so it is on every process
            return group_stability(drift_KNT, rollout.mask_NT, rollout.group_N, present_KN)

        def everywhere(rows_first: Tensor) -> Tensor:
            return accelerator.gather(accelerator.pad_across_processes(rows_first.contiguous(), dim=1))

        drift_AKT = accelerator.gather(
            accelerator.pad_across_processes(drift_KNT.transpose(0, 1).contiguous(), dim=2)
        )
        mask_AT, present_AK = everywhere(rollout.mask_NT), accelerator.gather(present_KN.T.contiguous())
        group_A = accelerator.gather(rollout.group_N)
        u_AT = group_stability(drift_AKT.transpose(0, 1), mask_AT, group_A, present_AK.T)
        start = accelerator.process_index * N
        return u_AT[start : start + N, :T]
