"""Pre-train the base policy: supervised, on solutions that follow the scene in a fixed share of cases."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from torch import Tensor
from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

from scapo.errors import ScapoError
from scapo.problems.world.batches import Pretraining, Tokenizer, batches, build_tokenizer


def build_model(settings: Pretraining, tokenizer: Tokenizer) -> Qwen3ForCausalLM:
    """A small Qwen3 with fresh weights."""
    torch.manual_seed(settings.seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden_size,
        intermediate_size=3 * settings.hidden_size,
        num_hidden_layers=settings.layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=settings.hidden_size // 4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        initializer_range=0.05,  # 0.02 suits wide models; this one learns sooner from larger weights
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, do_sample=True
    )
    return model


def token_loss(model: Qwen3ForCausalLM, tokens: Tensor, wanted: Tensor) -> Tensor:
    """Mean cross-entropy (nats) of the wanted tokens; the head runs on these positions only."""
    hidden = model.model(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state
    here, targets = wanted[:, 1:], tokens[:, 1:]
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[here]), targets[here])


def optimizers(settings: Pretraining, model: Qwen3ForCausalLM) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers (half the steps that AdamW needs here), AdamW for the rest."""
    matrices = [weight for weight in model.model.layers.parameters() if weight.ndim == 2]
    inside = {id(weight) for weight in matrices}
    rest = [weight for weight in model.parameters() if id(weight) not in inside]
    lr, decay = settings.learning_rate, settings.weight_decay
    return [
        torch.optim.Muon(matrices, lr=lr, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=lr, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def learning_rate_factor(step: int, settings: Pretraining) -> float:
    """Linear warm-up, then a straight line to zero; `step` counts from 0."""
    rise = (step + 1) / settings.warmup
    fall = (settings.steps - step) / max(1, settings.steps - settings.warmup)
    return min(1.0, rise, fall)


def train(
    settings: Pretraining, model: Qwen3ForCausalLM, source: Iterator[tuple[Tensor, Tensor]],
    watch: Callable[[int, float], None] = lambda step, loss: None,
) -> None:  # fmt: skip
    """Run the schedule on batches of (tokens, wanted); `watch` sees every step (from 1) and its loss."""
    chosen = optimizers(settings, model)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_factor(step, settings))
        for optimizer in chosen
    ]
    model.train()
    for step in range(1, settings.steps + 1):
        loss = token_loss(model, *next(source))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(chosen, schedules, strict=True):
            optimizer.step()
            schedule.step()
        model.zero_grad(set_to_none=True)
        watch(step, loss.item())
    model.eval()


def pretrain(out_dir: Path, settings: Pretraining) -> float:
    """Make tokenizer and model, train, save a transformers checkpoint; returns the seconds it took."""
    if not hasattr(torch.optim, "Muon"):
        raise ScapoError(
            f"Pre-training needs torch 2.9 or later (torch.optim.Muon), found {torch.__version__}."
        )
    started = time.monotonic()
    tokenizer = build_tokenizer(settings)
    model = build_model(settings, tokenizer)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as progress:
        task = progress.add_task("pre-training", total=settings.steps)

        def watch(step: int, loss: float) -> None:
            progress.update(task, completed=step, description=f"pre-training, loss {loss:.3f}")

        train(settings, model, batches(settings, tokenizer), watch)
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)
    return time.monotonic() - started
