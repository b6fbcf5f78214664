"""Bytes per GPU while the actor is updated and while responses are sampled, hybrid engine, FSDP2.

Mixed precision as in verl: float32 master weights, gradients and Adam moments, all sharded; bf16 passes.
"""

from dataclasses import dataclass

from scapo.errors import ScapoError
from scapo.plan.hardware import GIB, RUNTIME_GIB, Gpu
from scapo.plan.model_shape import ModelShape

CHUNK_LOGITS = 2**25
"""Logits that exist at once in the chunked head, as in scapo.algorithm.logprobs."""


@dataclass(frozen=True, kw_only=True)
class TrainMemory:
    """Bytes per GPU during the update.

    gathered: what FSDP makes whole at a time: two layers and the embeddings in bf16, the float32 gradients of
    one layer and of the embeddings. checkpoints: the input of every layer. layer: what one layer keeps for its
    backward pass. logits_chunked, logits_whole: float32 logits and their gradient, for one chunk or for all
    tokens of a micro-batch.
    """

    weights: float
    gradients: float
    adam: float
    gathered: float
    checkpoints: float
    layer: float
    logits_chunked: float
    logits_whole: float
    runtime: float

    @property
    def resident(self) -> float:
        """What stays between the phases unless it is offloaded (gradients are freed)."""
        return self.weights + self.adam

    @property
    def total(self) -> float:
        parts = (self.gathered, self.checkpoints, self.layer, self.logits_chunked, self.runtime)
        return self.resident + self.gradients + sum(parts)

    @property
    def total_whole_logits(self) -> float:
        return self.total - self.logits_chunked + self.logits_whole


def layer_elements(shape: ModelShape) -> int:
    """Values per token that one layer keeps for its backward pass, each in bf16.

    Five of the hidden size (two norms, two residuals, the projected output), four of each head (projection,
    norm, rotation; the attended value or v), four of the feed-forward size (gate, up, activation, product).
    """
    heads = 4 * (shape.heads + shape.kv_heads) * shape.head_dim
    return 5 * shape.hidden + heads + 4 * shape.ffn


def train_memory(
    shape: ModelShape, shards: int, micro_tokens: int, *, checkpointing: bool = True
) -> TrainMemory:
    """shards: GPUs over which the states are sharded. micro_tokens: tokens of a micro-batch on one GPU."""
    share = shape.params / shards
    embeddings = shape.head_params * (1 if shape.tied else 2)
    layer = 2.0 * micro_tokens * layer_elements(shape)
    return TrainMemory(
        weights=4 * share,
        gradients=4 * share,
        adam=8 * share,
        gathered=2 * (2 * shape.layer_params + embeddings) + 4 * (shape.layer_params + embeddings),
        checkpoints=2.0 * micro_tokens * shape.layers * shape.hidden if checkpointing else 0.0,
        layer=layer if checkpointing else layer * shape.layers,
        logits_chunked=2.0 * 4 * min(CHUNK_LOGITS, micro_tokens * shape.vocab),
        logits_whole=2.0 * 4 * micro_tokens * shape.vocab,
        runtime=RUNTIME_GIB * GIB,
    )


@dataclass(frozen=True, kw_only=True)
class RolloutMemory:
    """Bytes per GPU while sampling. resident: sharded training states that were not offloaded."""

    weights: float
    cache: float
    resident: float
    runtime: float
    kv_tokens: float

    @property
    def total(self) -> float:
        return self.weights + self.cache + self.resident + self.runtime


def rollout_memory(
    shape: ModelShape, gpu: Gpu, share: float, tensor_parallel: int, resident: float
) -> RolloutMemory:
    """The engine takes `share` of the GPU (vLLM's gpu_memory_utilization): weights, runtime, and cache with the rest.

    kv_tokens: tokens that the caches of the engine's `tensor_parallel` GPUs hold together.
    """
    if not 0 < share < 1:
        raise ScapoError(
            f"The rollout engine's share of the memory is {share}; give --rollout-memory between 0 and 1."
        )
    weights = 2 * shape.params / tensor_parallel
    runtime = RUNTIME_GIB * GIB
    cache = share * gpu.memory - weights - runtime
    if cache <= 0:
        raise ScapoError(
            f"{share:.2f} of a GPU of {gpu.memory / GIB:.0f} GiB ({gpu.name}) leaves no room for a key-value cache beside "
            f"{(weights + runtime) / GIB:.1f} GiB of weights and runtime. Raise --rollout-memory or --tensor-parallel."
        )
    kv_tokens = cache * tensor_parallel / shape.kv_bytes
    return RolloutMemory(
        weights=weights, cache=cache, resident=resident, runtime=runtime, kv_tokens=kv_tokens
    )
