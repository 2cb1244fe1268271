"""On which GPUs this code has run: `scripts/gpu_check` proves it and says what to write here."""

GPUS: tuple[str, ...] = ()

UNPROVEN = "compiled, never run on a GPU"
