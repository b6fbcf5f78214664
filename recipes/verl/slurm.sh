#!/bin/bash
# One training run on SLURM: a Ray cluster over the nodes of the job, then the recipe on the first of them.
#   sbatch --nodes=1 recipes/verl/slurm.sh recipes/verl/qwen3-4b-8gpu.yaml
#   sbatch --nodes=2 recipes/verl/slurm.sh recipes/verl/qwen3-4b-2x8.yaml method.n_0=60
# Submit it again after a time limit or a failure: the run goes on from its last checkpoint. Not run here: no cluster.
# Set VENV to a virtual environment that all nodes see; partition, account and time limit are your cluster's.
#SBATCH --job-name=scapo
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --mem=0
#SBATCH --exclusive
#SBATCH --time=24:00:00
#SBATCH --output=%x-%j.log
#SBATCH --signal=B:TERM@120

set -euo pipefail

if [ $# -lt 1 ]; then
    echo "slurm.sh: name a recipe, such as recipes/verl/qwen3-4b-8gpu.yaml; settings (key=value) may follow." >&2
    exit 2
fi
source "${VENV:-.venv}/bin/activate"

nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
port=${RAY_PORT:-6379}
address=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | awk '{print $1}')
gpus=${SLURM_GPUS_ON_NODE:-8}
cpus=${SLURM_CPUS_PER_TASK:-64}

stop() { kill "${jobs[@]}" 2>/dev/null || true; }
jobs=()
trap stop EXIT
trap 'stop; exit 143' TERM

# --block keeps each `ray start`, and with it its SLURM step, alive until the job ends.
srun --nodes=1 --ntasks=1 -w "$head" --overlap \
    ray start --head --node-ip-address="$address" --port="$port" --num-gpus="$gpus" --num-cpus="$cpus" --block &
jobs+=($!)
for node in "${nodes[@]:1}"; do
    srun --nodes=1 --ntasks=1 -w "$node" --overlap \
        ray start --address="$address:$port" --num-gpus="$gpus" --num-cpus="$cpus" --block &
    jobs+=($!)
done

# Wait until all nodes have joined, at most five minutes.
export RAY_ADDRESS="$address:$port"
wanted=$((gpus * ${#nodes[@]}))
for attempt in $(seq 60); do
    found=$(srun --nodes=1 --ntasks=1 -w "$head" --overlap python -c \
        "import ray; ray.init(logging_level='ERROR'); print(int(ray.cluster_resources().get('GPU', 0)))" 2>/dev/null || echo 0)
    [ "$found" -ge "$wanted" ] && break
    sleep 5
done
if [ "$found" -lt "$wanted" ]; then
    echo "slurm.sh: the Ray cluster has $found of $wanted GPUs after five minutes; see the ray lines above." >&2
    exit 1
fi

srun --nodes=1 --ntasks=1 -w "$head" --overlap --export=ALL,RAY_ADDRESS="$RAY_ADDRESS" \
    python -u -m scapo.engines.verl "$@" trainer.nnodes="${#nodes[@]}" trainer.n_gpus_per_node="$gpus" &
run=$!
jobs+=("$run")
wait "$run"
