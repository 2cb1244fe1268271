"""Fixtures of several test modules of preprocess."""

from preprocess_faults import fault_library, server  # noqa: F401
from preprocess_passes import command, undisturbed  # noqa: F401
