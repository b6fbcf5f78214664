from scapo.sampling.generate import *  # noqa: F403
