from scapo.sampling.local import *  # noqa: F403
