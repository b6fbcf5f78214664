"""Shape checks and row grouping shared by the algorithm's files.

Shape suffixes: _N rows (responses), _T token positions, _K perturbations, _M valid tokens of one group.
"""

import torch
from torch import Tensor

from scapo.errors import ScapoError


class ShapeError(ScapoError, ValueError):
    """Tensors that belong together do not have the shapes that their function documents."""


class NonFiniteError(ScapoError, ValueError):
    """A NaN or an infinity stands where a number is needed; computing on would poison a whole group."""


def require_shape(name: str, tensor: Tensor, expected: tuple[int, ...]) -> None:
    """Raise ShapeError unless `tensor` has exactly the `expected` shape."""
    if tuple(tensor.shape) != expected:
        raise ShapeError(f"`{name}` has shape {tuple(tensor.shape)}, but {expected} is needed.")


def require_dims(name: str, tensor: Tensor, dims: str) -> None:
    """Raise ShapeError unless `tensor` has as many dimensions as `dims` has letters (such as "KNT")."""
    if tensor.dim() != len(dims):
        wanted = "(" + ", ".join(dims) + ("," if len(dims) == 1 else "") + ")"
        raise ShapeError(f"`{name}` has shape {tuple(tensor.shape)}, but shape {wanted} is needed.")


def require_finite(name: str, tensor: Tensor) -> None:
    """Raise NonFiniteError, naming the first rows concerned, when `tensor` holds a NaN or an infinity."""
    bad = torch.unique((~torch.isfinite(tensor)).nonzero()[:, 0]).tolist()
    if bad:
        raise NonFiniteError(
            f"`{name}` is NaN or infinite in row {', '.join(map(str, bad[:10]))} ({len(bad)} of "
            f"{len(tensor)} rows). Every valid place needs a number: look at what made it."
        )


def require_bool(name: str, mask: Tensor) -> Tensor:
    """The mask as booleans. Integer or float masks are taken as "not zero"; they must hold only 0 and 1."""
    if mask.dtype is torch.bool:
        return mask
    as_bool = mask != 0
    if not bool((as_bool == mask).all()):
        raise ScapoError(f"`{name}` must be boolean (or hold only 0 and 1), but it holds other values.")
    return as_bool


def at_least_float32(tensor: Tensor) -> Tensor:
    """float32 for half precision and integers, unchanged for float32 and float64."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def for_statistics(tensor: Tensor) -> Tensor:
    """float64 for sums over a group (float32 on Apple's "mps" device, which has no float64)."""
    return tensor.to(torch.float32 if tensor.device.type == "mps" else torch.float64)


def rows_by_group(group_N: Tensor) -> list[Tensor]:
    """Row indices of each group, in ascending row order; ids are arbitrary integers, groups may be ragged."""
    _, which_N, sizes = torch.unique(group_N, return_inverse=True, return_counts=True)
    return list(torch.split(torch.argsort(which_N, stable=True), sizes.tolist()))
