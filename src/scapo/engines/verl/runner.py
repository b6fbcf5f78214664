"""verl's task runner, which makes our trainer known in its own process."""

from typing import Any

from verl.trainer.main_ppo import TaskRunnerV1


class ScapoTaskRunner(TaskRunnerV1.__ray_metadata__.modified_class):
    """Runs in a Ray actor of its own; importing the trainer registers it."""

    def run(self, config: Any) -> Any:
        import scapo.engines.verl.trainer  # noqa: F401

        return super().run(config)
