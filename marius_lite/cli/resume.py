"""The command `marius-lite resume`."""

from __future__ import annotations

from marius_lite.cli import options


def resume(
    run: options.Run,
    checkpoint: options.From = None,
    sets: options.Sets = None,
    dataset: options.Moved = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    allow_code: options.AllowCode = False,
) -> None:
    """Continue a run from its latest checkpoint as if nothing had happened.

    With --checkpoint the run goes back to that place. Later checkpoints are removed once a new one is written.
    """
    from marius_lite.cli.output import show
    from marius_lite.train.run import resume_run

    show(resume_run(run, checkpoint, sets or [], dataset), as_json)
