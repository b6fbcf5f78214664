"""d-filtered decoding: sample only from the tokens whose probability the wording of the prompt moves least."""

from scapo.decode.drift_filter import drift_filter, filtered_policy, vocabulary_drift

__all__ = ["drift_filter", "filtered_policy", "vocabulary_drift"]
