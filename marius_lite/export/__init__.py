"""Exports: a checkpoint's results in files that other programs read, with raw ids."""
