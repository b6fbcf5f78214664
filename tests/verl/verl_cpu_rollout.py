"""Rollouts from a transformers model in one Ray actor of its own, fed with the trained weights by rank 0."""

import ray
import torch
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica
from verl_cpu_server import HfServer

NAME = "hf_server"


class HfRollout(BaseRollout):
    """The side in the actor workers: hands over weights."""

    async def resume(self, tags):
        pass

    async def release(self):
        pass

    async def update_weights(self, weights, wire_format="named_tensors", global_steps=0, **kwargs):
        state = {name: tensor.detach().cpu().clone() for name, tensor in weights}  # gathers on all ranks
        if torch.distributed.get_rank() == 0:
            await ray.get_actor(NAME).load.remote(state, global_steps or 0)


class HfReplica(RolloutReplica):
    """One server for all ranks (set tensor_model_parallel_size to their number)."""

    async def launch_servers(self):
        server = (
            ray.remote(HfServer)
            .options(name=NAME, num_cpus=0, max_concurrency=4096)
            .remote(self.model_config.path, self.config.response_length)
        )
        self.servers = [server]
        self._server_handle, self._server_address = server, "local:0"
