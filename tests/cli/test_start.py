"""How the command line starts: as a module, one command's code alone, and for a shell that completes a word."""

import os
import re
import subprocess
import sys

import pytest

from marius_lite.cli import main


def started(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "marius_lite", *arguments], capture_output=True, text=True, env=os.environ | variables
    )


def test_the_package_is_a_command():
    done = started("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("marius-lite ")


@pytest.mark.parametrize("command", main.COMMANDS)
def test_a_command_loads_its_own_module_alone(command):
    code = (
        f"import sys\nfrom marius_lite.cli import main\nassert main.run(['{command}', '--help']) == 0\n"
        "print('loaded:', *(name for name in main.COMMANDS if f'marius_lite.cli.{name}' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"loaded: {command}"


@pytest.mark.parametrize("arguments", [["train", "--help"], ["preprocess", "--help"], ["--help"]])
def test_help_loads_what_it_prints_with_alone(arguments):
    code = (
        f"import sys\nfrom marius_lite.cli import main\nassert main.run({arguments}) == 0\n"
        "print('loaded:', *{'pydantic', 'yaml', 'socket', 'numpy', 'pyarrow', 'torch'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert f"Usage: marius-lite {'[OPTIONS] COMMAND' if arguments[0] == '--help' else arguments[0]} " in done.stdout


def test_an_unknown_command_is_told_what_there_is(cli, capfd):
    assert cli("trian") == 2
    assert "Did you mean 'train'?" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "place", "found"),
    [("marius-lite re", "1", {"repartition", "report", "resume"}), ("marius-lite train --allow", "2", {"--allow-code"})],
)
def test_a_shell_completes(words, place, found):
    done = started(_MARIUS_LITE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)
    assert set(done.stdout.split()) == found


def test_commands_do_not_load_pandas_and_programs_can(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "e.tsv").write_text("1\t2\n2\t3\n")
    command = ["preprocess", str(tmp_path / "e.tsv"), "--output", str(tmp_path / "d")]
    code = (
        f"import sys\nfrom marius_lite.cli import main\nassert main.run({command}) == 0\n"
        "assert 'pandas' not in sys.modules\nimport pyarrow as pa\n"
        "frame = pa.table({'a': [1, 2]}).to_pandas()\nassert frame['a'].tolist() == [1, 2]\n"
        "assert pa.array(frame['a']).type == pa.int64() and pa.Table.from_pandas(frame).num_rows == 2\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_lists_all_commands_with_what_each_is_for(capfd):
    for arguments, code in ((["--help"], 0), ([], 2)):
        assert main.run(arguments) == code
        told = capfd.readouterr()
        assert told.err == ""
        names = [line.split()[0] for line in told.out.split("Commands:")[1].splitlines() if re.match(r"  \w", line)]
        assert names == list(main.COMMANDS)
        assert "update       Add edges, with their new nodes and relations, to a dataset" in told.out
        assert "..." not in told.out.split("Commands:")[1]
