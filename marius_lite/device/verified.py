"""The GPUs on which this code has run. `scripts/gpu_check` finds out, and says what to write here."""

GPUS: tuple[str, ...] = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")

UNPROVEN = "compiled, never run on a GPU"
