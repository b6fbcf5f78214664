"""verl on the CPU for this folder's tests: the platform must be known before verl is imported."""

import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
CPU_VERL = {
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",
    "VERL_USE_EXTERNAL_MODULES": "verl_cpu_platform",
    "TQ_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
if importlib.util.find_spec("verl"):
    os.environ.update(CPU_VERL)
sys.path.insert(0, str(HERE))
