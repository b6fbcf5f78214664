"""SCAPO on verl: a trainer for Ray clusters, started by `python -m scapo.engines.verl RECIPE.yaml`."""
