"""The command line: one app, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import gc
import inspect
import os
import signal
import sys
import traceback
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.core import DEFAULT_MARKUP_MODE

import marius_lite
from marius_lite.errors import EndedElsewhere, MariusError, UserError
from marius_lite.log import on_standard_error
from marius_lite.printable import printable
from marius_lite.processes.interrupt import ctrl_c_pressed, remember_ctrl_c

COMMANDS = (
    "fetch",
    "preprocess",
    "repartition",
    "update",
    "tune",
    "train",
    "resume",
    "eval",
    "predict",
    "index",
    "neighbors",
    "export",
    "report",
    "plan",
    "info",
    "upload",
)
TRACEBACK = "MARIUS_LITE_TRACEBACK"
COMPLETION = "_MARIUS_LITE_COMPLETE"
"""Set where a shell asks what may follow."""
STOPPED = 128 + signal.SIGINT
PYTHONS_ADVICE = "; use sys.set_int_max_str_digits() to increase the limit"  # nobody can follow it on a command line
COLLECTED_AFTER = 50_000
"""New objects after which Python looks for cycles of them, not 700: imports make hundreds of thousands that all stay."""
MOST_SHOWN = 600  # characters of a message of unknown length, at each end


def app(listed: bool = False) -> typer.Typer:
    """Return the typer app with all commands.

    ``listed``: only with what each is for, in plain text. To read all options, and to import what draws boxes, would be half of
    the time that help takes.
    """
    cli = typer.Typer(
        name="marius-lite",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if listed else DEFAULT_MARKUP_MODE,
        help="Train graph embeddings and graph neural networks larger than memory, on one machine.",
    )
    cli.callback()(_root)
    for name in COMMANDS:
        _add(cli, name, listed)
    return cli


def app_of(name: str) -> typer.Typer:
    """Return an app that is one command. Its help then loads no pydantic, with which typer reads the options that all share."""
    cli = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    _add(cli, name)
    return cli


def _add(cli: typer.Typer, name: str, listed: bool = False) -> None:
    """Add the command of the module of its name. ``listed``: without its options, and it does nothing."""
    command = getattr(import_module(f"marius_lite.cli.{name}"), name)
    if listed:
        first, *_ = " ".join(inspect.cleandoc(command.__doc__).split()).partition(". ")
        cli.command(name, short_help=first.rstrip("."))(lambda: None)
        return

    @wraps(command)
    def called(**given: Any) -> Any:
        _leave_pandas_out()
        return command(**given)

    cli.command(name)(called)


def _leave_pandas_out() -> None:
    """Let Arrow find no pandas when it makes its first array. It looks for it only to know pandas' own objects, which a command
    never gives it, and to load it takes longer than many commands do. What converts to pandas looks again."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, _PandasHidden)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(_PandasHidden)


class _PandasHidden:
    """A finder of modules that says that there is no pandas, and leaves all others to others."""

    @classmethod
    def find_spec(cls, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _root(
    version: bool = typer.Option(
        False, "--version", is_eager=True, callback=lambda given: _print_version(given), help="Print the version and stop."
    ),
) -> None:
    pass


def _print_version(given: bool) -> None:
    if given:
        print(f"marius-lite {marius_lite.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line, then exit with 0 (done), 1 (the run failed), 2 (wrong input), or 128 + n (after signal n)."""
    gc.set_threshold(COLLECTED_AFTER)
    _open_standard_files()
    remember_ctrl_c()
    sys.exit(run(sys.argv[1:]))


def _open_standard_files() -> None:
    """Open standard files that the caller closed, on /dev/null. Otherwise another file could become standard error."""
    while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(file)
    sys.stdout, sys.stderr = sys.stdout or os.fdopen(1, "w"), sys.stderr or os.fdopen(2, "w")


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code. Only its own module is loaded; for help and completion, all are."""
    try:
        with on_standard_error():
            name = next((name for name in COMMANDS if name in arguments[:1]), None)
            called, rest = ("marius-lite", arguments) if name is None else (f"marius-lite {name}", arguments[1:])
            listed = arguments in ([], ["--help"]) and COMPLETION not in os.environ
            shown = app(listed) if name is None else app_of(name)
            status = shown(args=["--help"] if listed else rest, standalone_mode=False, prog_name=called)
        if listed and not arguments:
            return 2
        if status == STOPPED:  # newer versions of typer return this where a command raises KeyboardInterrupt
            return _fail("stopped", STOPPED)
        return status if isinstance(status, int) else 0
    except EndedElsewhere as error:
        return error.exit_code
    except MariusError as error:
        code = 2 if isinstance(error, UserError) else getattr(error, "exit_code", 1)
        return _fail(str(error), code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("stopped", STOPPED)
    except OSError as error:
        return _fail(_os_message(error), 1)
    except MemoryError as error:
        return _fail(f"out of memory: {error}: lower storage.memory or training.batch_size", 1)
    except Exception as error:
        if ctrl_c_pressed():
            return _fail("stopped", STOPPED)
        if type(error).__name__ == "OutOfMemoryError":  # torch's, of a GPU
            first = str(error).splitlines()[0]
            return _fail(f"{first}: end what else uses the GPU, or hide it by CUDA_VISIBLE_DEVICES= to read a run on the CPU", 1)
        usage = getattr(error, "format_message", None)  # typer's own complaints about options
        return _fail(usage(), 2) if usage else _unexpected(error)


def _unexpected(error: Exception) -> int:
    """Report an error that nobody expected: a mistake in this program, or damage of a new kind."""
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}"[:MOST_SHOWN]
    return _fail(f"unexpected error: {what}: a file is damaged, or this is a mistake of marius-lite: {TRACEBACK}=1 shows more", 1)


def _os_message(error: OSError) -> str:
    from marius_lite.files import disk_error

    return str(disk_error(error, error.filename or "")) if error.errno else str(error)


def _fail(message: str, code: int) -> int:
    """Print a message on standard error, and return the exit code."""
    message = message.replace(PYTHONS_ADVICE, "")
    if len(message) > 2 * MOST_SHOWN:  # it shows something of thousands of characters that was given
        message = f"{message[:MOST_SHOWN]} ... {message[-MOST_SHOWN:]}"
    try:
        print(f"marius-lite: {printable(message)}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code
