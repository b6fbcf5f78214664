"""What scores responses: a function, so that the credits need no cluster."""

from collections.abc import Callable, Sequence

from torch import Tensor

Ids = Sequence[int]
Score = Callable[[Sequence[tuple[Ids, Ids]]], list[Tensor]]
"""From pairs (prompt ids, response ids) to the log-probs (nats) of each response's tokens."""
