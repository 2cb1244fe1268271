"""Torch is set up as a run asks for it, without its compiler, which takes longer to load than the rest."""

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys, torch
import marius_lite as ml
from marius_lite.nn.torch_settings import prepare_torch
from marius_lite.optim.dense import DENSE_OPTIMIZERS, DenseOptimizer
config = ml.load_config(values={"training": {"staleness": int(sys.argv[1]), "threads": 1, "products": "onednn"}})
prepare_torch(config)
print(torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled())
print(torch.utils.deterministic.fill_uninitialized_memory, os.environ.get("TORCHINDUCTOR_DETERMINISTIC"))
for name in DENSE_OPTIMIZERS:
    layer = torch.nn.Linear(2, 2)
    optimizer = DenseOptimizer(name, layer, lr=0.1)
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()
print({"torch._inductor", "torch._dynamo"} & {*sys.modules})
"""


@pytest.mark.parametrize(
    ("staleness", "said"), [(0, ["True False", "False 1", "set()"]), (2, ["False False", "False None", "set()"])]
)
def test_the_same_bits_are_asked_for_where_a_run_promises_them(staleness, said):
    here = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_DETERMINISTIC"}  # other tests set it
    done = subprocess.run([sys.executable, "-c", CODE, str(staleness)], capture_output=True, text=True, env=here)
    assert done.stdout.splitlines() == said, done.stderr
