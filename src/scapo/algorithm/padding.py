"""Lists of token ids to padded tensors.

Shape suffixes: _U prompts, _W prompt columns, _N rows (responses), _T response positions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def left_padded(texts: Sequence[Sequence[int]], width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (U, W) with zeros on the left up to `width` columns, and a long mask that is 1 at real tokens."""
    ids = torch.tensor([[0] * (width - len(text)) + list(text) for text in texts], device=device)
    real = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts], device=device)
    return ids, real


def right_padded(texts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids (N, T) with zeros on the right up to the longest, and a bool mask that is True at real tokens."""
    width = max(map(len, texts), default=0)
    padded = [[*text, *[0] * (width - len(text))] for text in texts]
    ids = torch.tensor(padded, dtype=torch.long, device=device).reshape(len(texts), width)
    lengths = torch.tensor([len(text) for text in texts], device=device)
    return ids, torch.arange(width, device=device) < lengths[:, None]
