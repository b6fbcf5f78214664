from scapo.sampling.noise import *  # noqa: F403
