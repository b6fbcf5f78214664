"""Seeded, batched sampling from a transformers checkpoint: what evaluation, diagnosis and decoding share."""
