"""What a run costs before it is started: FLOPs, memory and time from a stated model of model and hardware."""
