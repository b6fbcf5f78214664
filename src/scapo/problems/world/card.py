"""The base policy's model card, written from measured numbers."""

from pathlib import Path

from safetensors.torch import load_file

from scapo.files import write_atomic
from scapo.problems.world.batches import Pretraining
from scapo.problems.world.measure import SAMPLES, Numbers

CARD = """---
license: apache-2.0
language: en
---
# Base policy of the embedded world

A Qwen3-architecture model with {parameters:,} parameters for generated arithmetic word problems. It is
made to be trained further: it has partly learnt a *shortcut*, and reinforcement learning has room to
remove it. It is of no use outside the embedded world.

## The shortcut
Every story may begin with an incidental scene ("At the market, ..."). Each scene belongs to one
operation. The policy was pre-trained (supervised) on worked solutions in which, where scene and verb
disagree about the first step, the scene chose the operation in {follow_scene:.0%} of cases; any step
slipped to another feasible operation in {slip:.0%}; where a story held an irrelevant number,
{distracted:.0%} used it. Of the stories with such a scene, half disagreed. {noise_share:.0%} of the
prompts carried mild noise (a typo, a frame, a tag, other words).

## Numbers
{problems} problems a split (seed 0), {samples} responses each for the sampled columns (temperature 1,
whole vocabulary; ± standard error over problems). Reinforcement learning trains on `train`.

| split | sampled accuracy | greedy accuracy | followed a wrong scene | groups with mixed rewards |
|---|---|---|---|---|
{table}

"Followed a wrong scene": share of responses whose first operator is the scene's and not the verb's.
"Groups with mixed rewards": share of problems whose {samples} responses are neither all right nor all wrong.

## Made by
`scapo world-pretrain OUT_DIR{flags}` writes this folder, card and numbers included. Texts, order and
first weights follow from the seed; another CPU or torch version may change the last bits and with them
single answers.
"""


def write_card(out_dir: Path, settings: Pretraining, results: dict[str, Numbers], problems: int) -> None:
    """README.md beside the weights; `results` as from `measure` with so many problems."""
    weights = load_file(out_dir / "model.safetensors")
    parameters = sum(weight.numel() for weight in weights.values())
    write_atomic(out_dir / "README.md", card_text(settings, parameters, results, problems))


def card_text(settings: Pretraining, parameters: int, results: dict[str, Numbers], problems: int) -> str:
    """The card in Markdown; the command in it names only settings that differ from the shipped ones."""
    usual = Pretraining()
    flags = {
        "seed": (settings.seed, usual.seed),
        "steps": (settings.steps, usual.steps),
        "problems": (problems, 200),
    }
    return CARD.format(
        parameters=parameters,
        follow_scene=settings.habits.follow_scene,
        slip=settings.habits.slip,
        distracted=settings.habits.distracted,
        noise_share=settings.noise_share,
        problems=problems,
        samples=SAMPLES,
        table="\n".join(_line(split, numbers) for split, numbers in results.items()),
        flags="".join(f" --{name} {value}" for name, (value, default) in flags.items() if value != default),
    )


def _line(split: str, numbers: Numbers) -> str:
    rest = " | ".join(f"{numbers[key]:.3f}" for key in ("greedy", "followed_scene", "mixed_groups"))
    return f"| {split} | {numbers['sampled']:.3f} ± {numbers['stderr']:.3f} | {rest} |"
