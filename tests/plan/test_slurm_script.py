"""recipes/verl/slurm.sh with stand-ins for SLURM and Ray."""

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "recipes" / "verl" / "slurm.sh"

SRUN = """#!/bin/bash
echo "srun $*" >> "$CALLS"
while [[ $1 == -* ]]; do [[ $1 == -w ]] && shift; shift; done
case "$*" in
    "hostname --ip-address") echo 10.0.0.7 ;;
    "ray start"*) exec sleep 60 ;;
    *"cluster_resources"*) echo 16 ;;
    *) echo "$RAY_ADDRESS" > "$CALLS.address"; exit 3 ;;
esac
"""


def test_the_slurm_script_starts_ray_and_then_the_recipe(tmp_path):
    """With stand-ins for SLURM: Ray on each of two nodes, the recipe once, its exit status, and nothing left over."""
    programs = {"srun": SRUN, "scontrol": "#!/bin/bash\nprintf 'n1\\nn2\\n'\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "activate").write_text("")
    calls = tmp_path / "calls"
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "VENV": str(tmp_path),
        "CALLS": str(calls),
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_GPUS_ON_NODE": "8",
        "SLURM_CPUS_PER_TASK": "64",
    }
    words = ["bash", str(SCRIPT), "recipe.yaml", "method.n_0=60"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    lines = calls.read_text().splitlines()
    ray = [line for line in lines if "ray start" in line]
    assert len(ray) == 2
    assert any("-w n1" in line and "--head" in line for line in ray)
    assert any("-w n2" in line and "--address=10.0.0.7:6379" in line for line in ray)
    (run,) = [line for line in lines if "scapo.engines.verl" in line]
    assert run.endswith(
        "-m scapo.engines.verl recipe.yaml method.n_0=60 trainer.nnodes=2 trainer.n_gpus_per_node=8"
    )
    assert (tmp_path / "calls.address").read_text().strip() == "10.0.0.7:6379"


def test_the_slurm_script_asks_for_a_recipe():
    done = subprocess.run(["bash", str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "name a recipe" in done.stderr
