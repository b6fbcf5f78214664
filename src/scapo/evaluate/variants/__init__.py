"""Benchmark variants that the paper uses and nobody publishes: NoOp and ThinkBench versions of a problem file."""
