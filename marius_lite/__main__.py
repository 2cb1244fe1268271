"""Run the command line as ``python -m marius_lite``."""

from marius_lite.cli.main import main

main()
