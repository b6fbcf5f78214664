"""A CPU for verl, which knows accelerators only: for tests, loaded by VERL_USE_EXTERNAL_MODULES in every process.

Ray counts logical GPUs (ray_init.num_gpus), torch.distributed runs on gloo, and responses come from a
transformers model (verl_cpu_rollout).
"""

import types
from contextlib import contextmanager

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry
from verl.workers.rollout.base import _ROLLOUT_REGISTRY
from verl.workers.rollout.replica import RolloutReplicaRegistry


class _Module(types.ModuleType):
    """`torch.cpu` with the functions of `torch.cuda` that verl calls; memory numbers are 0."""

    def __getattr__(self, name):
        if hasattr(torch.cpu, name):
            return getattr(torch.cpu, name)
        if name.startswith(("max_memory", "memory_")):
            return lambda *args, **kwargs: 0
        if name in ("empty_cache", "ipc_collect", "reset_peak_memory_stats", "set_device", "synchronize"):
            return lambda *args, **kwargs: None
        if name in ("get_rng_state", "set_rng_state"):
            return getattr(torch, name)
        if name == "get_device_name":
            return lambda *args, **kwargs: "CPU"
        if name == "mem_get_info":
            return lambda *args, **kwargs: (1 << 30, 1 << 31)
        raise AttributeError(name)


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _Module("torch.cpu")

    def is_available(self):
        return True

    def current_device(self):
        return "cpu"

    def device_count(self):
        return 1

    def set_device(self, device_index):
        pass

    def synchronize(self, device_index=None):
        pass

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings):
        pass

    def empty_cache(self):
        pass

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg):
        yield

    def profiler_start(self):
        pass

    def profiler_stop(self):
        pass

    def ray_resource_name(self):
        return "GPU"

    def ray_noset_envvars(self):
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self):
        return False

    def cudart(self):
        return None


_ROLLOUT_REGISTRY[("hf", "async")] = "verl_cpu_rollout.HfRollout"


def _replica():
    from verl_cpu_rollout import HfReplica

    return HfReplica


RolloutReplicaRegistry.register("hf", _replica)


def _gloo_only():
    """verl asks for "cpu:gloo,cpu:gloo", which torch refuses."""
    import verl.utils.distributed as distributed

    start = distributed.initialize_global_process_group_ray

    def initialize(timeout_second=None, backend=None):
        return start(timeout_second=timeout_second, backend="gloo")

    distributed.initialize_global_process_group_ray = initialize


_gloo_only()


def _keep_credit():
    """Keep every rollout with its drift and advantages in the folder SCAPO_TEST_DUMP, for tests."""
    import os
    from pathlib import Path

    folder = os.environ.get("SCAPO_TEST_DUMP")
    if not folder:
        return
    from scapo.engines.verl import credit

    make, probe, seen = credit.credited, credit.probe, {}

    def keeping_probe(*arguments):
        seen["drift_KNT"] = (found := probe(*arguments)).drift_KNT
        return found

    def keeping_credit(rollout, tools):
        seen.clear()
        found = make(rollout, tools)
        content = {"rollout": vars(rollout), "advantage_NT": found.advantage_NT, **seen}
        Path(folder).mkdir(exist_ok=True)
        torch.save(content, Path(folder) / f"step-{int(rollout.step_N.min())}.pt")
        return found

    credit.probe, credit.credited = keeping_probe, keeping_credit


_keep_credit()
