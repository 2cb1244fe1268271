"""What scripts/gpu_check is made of: standard library only, so that it runs before anything is installed."""
