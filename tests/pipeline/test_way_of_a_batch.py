"""A batch of links passes few modules on its way from the sampler to its written rows: who reads them knows the whole way."""

import sys
import threading
from pathlib import Path

import pytest

import marius_lite

PACKAGE = Path(marius_lite.__file__).parent
PIPELINE = PACKAGE / "pipeline" / "batches.py"
APART = {
    PACKAGE / "train" / "trainer.py",  # asked after each batch whether to stop
    PACKAGE / "sampling" / "windows.py",  # says where a window is cut into batches, before they are sampled
    PACKAGE / "nn" / "gradients.py",  # torch.autograd.grad, without what it imports
}
SETTINGS = ["model.dim=8", "training.batch_size=200", "training.epochs=1", "negatives.count=20", "evaluation.every_epochs=0"]
OPTIONS = [part for item in SETTINGS for part in ("--set", item)]


class Passed:
    """The modules of the package whose functions run below the pipeline, in any thread."""

    def __init__(self):
        self.modules = set()

    def __call__(self, frame, event, argument):
        if event != "call" or not Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            return
        below = frame
        while below is not None and below.f_code.co_filename != str(PIPELINE):
            below = below.f_back
        if below is not None:
            self.modules.add(Path(frame.f_code.co_filename))


@pytest.mark.parametrize("decoder", ["distmult", "dot", "complex"])
@pytest.mark.parametrize("capacity", [2, 4])
def test_a_batch_of_links_passes_at_most_twelve_modules(decoder, capacity, tiny_dataset, tmp_path, cli):
    passed = Passed()
    threading.setprofile(passed)
    sys.setprofile(passed)
    try:
        settings = (*OPTIONS, "--set", f"model.decoder={decoder}", "--set", f"storage.capacity={capacity}")
        assert cli("train", tiny_dataset, "--run", tmp_path / "run", "--config", "preset:plain", *settings) == 0
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    names = sorted(path.relative_to(PACKAGE).as_posix() for path in passed.modules - APART)
    assert len(names) <= 12, "\n".join(names)
    assert {"sampling/negatives.py", "rows/host.py", "nn/model.py", "tasks/link_prediction.py"} <= set(names)
