"""What can't be trained on verl, said before Ray starts."""

from typing import Any

from scapo.engines.verl.method import MethodSettings
from scapo.errors import ScapoError

PINNED = ("0.9.1", "0.10")
"""verl's versions from the first up to, not including, the second: the method we override is private."""
METHOD = "_compute_advantage"


def check_verl() -> None:
    """Refuse a verl that lacks what we build on.

    Raises:
        ScapoError: naming the version found and the one to install.
    """
    from importlib.metadata import PackageNotFoundError, version

    from packaging.version import Version

    wanted = f"Install it with `pip install 'verl>={PINNED[0]},<{PINNED[1]}'` (docs/cluster.md)."
    try:
        found = version("verl")
    except PackageNotFoundError:
        raise ScapoError(f"verl is not installed here. {wanted}") from None
    if not Version(PINNED[0]) <= Version(found) < Version(PINNED[1]):
        raise ScapoError(
            f"verl {found} is installed; this engine needs {PINNED[0]} or newer below {PINNED[1]}. {wanted}"
        )
    check_method()


def check_method() -> None:
    """Refuse a verl whose synchronous trainer has lost the method that we override."""
    try:
        from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
    except ImportError as error:
        raise ScapoError(f"verl's V1 trainer can't be imported: {error}. See docs/cluster.md.") from error
    if not callable(getattr(PPOTrainerSync, METHOD, None)):
        raise ScapoError(
            f"verl's PPOTrainerSync has no method {METHOD} any more, so advantages can't be set. Install "
            f"verl>={PINNED[0]},<{PINNED[1]}."
        )


def check_config(config: Any, method: MethodSettings) -> None:
    """Refuse settings of verl under which the method would not be what it says.

    Raises:
        ScapoError: a sentence with the setting, its value and the remedy.
    """
    for key, value, allowed, reason in [*_always(config), *(_probing(config) if method.scores_again else [])]:
        if value not in allowed:
            raise ScapoError(
                f"{key} is {value!r}, which is not supported: {reason} Set it to {' or '.join(map(repr, allowed))}."
            )
    _check_steps(config, method)
    if method.scores_again and not config.actor_rollout_ref.rollout.temperature > 0:
        raise ScapoError(
            f"actor_rollout_ref.rollout.temperature is {config.actor_rollout_ref.rollout.temperature}; "
            "log-probs are taken at the sampling temperature, which must be above 0."
        )


def _always(config: Any) -> list[tuple[str, Any, tuple[Any, ...], str]]:
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    trainer, algorithm = config.trainer, config.algorithm
    return [
        ("trainer.use_v1", trainer.use_v1, (True,), "our trainer is built on verl's V1 trainer."),
        (
            *("trainer.v1.trainer_mode", trainer.v1.trainer_mode, ("scapo",)),
            "verl's asynchronous modes take another number of optimiser steps per rollout, which the schedule counts.",
        ),
        (
            *("algorithm.adv_estimator", algorithm.adv_estimator, ("grpo",)),
            "the outcome advantage is group-relative.",
        ),
        (
            *("algorithm.use_kl_in_reward", algorithm.use_kl_in_reward, (False,)),
            "advantages come from the reward alone (actor.use_kl_loss is possible).",
        ),
        (
            *(
                "algorithm.rollout_correction.bypass_mode",
                algorithm.rollout_correction.bypass_mode,
                (False,),
            ),
            "it takes the log-probs from the rollout engine, while rewrites are scored by the trainer; their "
            "difference would pass for drift.",
        ),
        (
            *("trainer.critic_warmup", trainer.critic_warmup, (0,)),
            "steps without an update would count in the schedule.",
        ),
        (
            *("actor_rollout_ref.rollout.top_p", float(rollout.top_p), (1.0,)),
            "log-probs are those of the whole vocabulary, so tokens must be sampled from it.",
        ),
        (
            *("actor_rollout_ref.rollout.top_k", rollout.top_k, (-1,)),
            "log-probs are those of the whole vocabulary, so tokens must be sampled from it.",
        ),
        (
            *("actor_rollout_ref.rollout.multi_turn.enable", rollout.multi_turn.enable, (False,)),
            "a later turn's prompt has no rewrite.",
        ),
        (
            *(
                "actor_rollout_ref.rollout.agent.default_agent_loop",
                rollout.agent.default_agent_loop,
                ("single_turn_agent",),
            ),
            "other agent loops make several trajectories of a response.",
        ),
        (
            *("actor_rollout_ref.actor.use_prefix_grouper", actor.get("use_prefix_grouper", False), (False,)),
            "it has not been checked with advantages per token.",
        ),
    ]


def _probing(config: Any) -> list[tuple[str, Any, tuple[Any, ...], str]]:
    router = config.actor_rollout_ref.actor.get("router_replay") or {}
    return [
        (
            *("actor_rollout_ref.actor.router_replay.mode", router.get("mode", "disabled"), ("disabled",)),
            "experts recorded for one prompt can't be replayed under its rewrites.",
        )
    ]


def _check_steps(config: Any, method: MethodSettings) -> None:
    """The schedule counts optimiser steps; where verl shuffles rows into them, lambda must not change within one rollout."""
    actor, batch = config.actor_rollout_ref.actor, config.data.train_batch_size
    if batch % actor.ppo_mini_batch_size:
        raise ScapoError(
            f"rollout.prompts is {batch}, which does not divide evenly into updates of {actor.ppo_mini_batch_size} "
            "prompts. Change rollout.prompts or rollout.updates."
        )
    updates = batch // actor.ppo_mini_batch_size * actor.ppo_epochs
    mixed = actor.shuffle or actor.ppo_epochs > 1
    if method.probes and mixed and method.n_0 % updates:
        raise ScapoError(
            f"method.n_0 is {method.n_0}, but one rollout feeds {updates} optimiser steps, and with "
            "actor.shuffle or actor.ppo_epochs above 1 it is unknown which rows each of them uses. Make n_0 a "
            f"multiple of {updates}."
        )
