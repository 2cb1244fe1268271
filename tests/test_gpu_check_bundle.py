"""The bundle for a machine with a GPU and without internet: what is in it, what is refused, and that it is run to the end."""

import importlib
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
TREE = {
    "LICENSE": "",
    "README.md": "read",
    "csrc/cuda/api.h": "code",
    "docs/gpu_check/README.md": "what a record is",
    "docs/gpu_check/nvidia.jsonl": "{}",
    "marius_lite/device/links.py": "new = True",
    "scripts/gpu_check": "#!/bin/sh",
    "tests/test_it.py": "",
    ".gitignore": "*.so\n*.pyc\nbuild/\n",
}
LEFT_BEHIND = {
    ".venv/bin/python": "",
    "build/inplace/cache": "",
    "marius_lite/_native.so": "built",
    "marius_lite/device/__pycache__/links.pyc": "",
    "letters/private.txt": "mine",
}


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return lambda name: importlib.import_module(f"gpu_check_parts.{name}")


@pytest.fixture
def bundle(modules, tmp_path, monkeypatch):
    """The module, for a small tree, with a wheel that is made at once."""
    module = modules("bundle")
    for name, text in {**TREE, **LEFT_BEHIND}.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "tree/pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "tree/scripts/gpu_check").chmod(0o755)
    monkeypatch.setattr(module, "ROOT", tmp_path / "tree")
    monkeypatch.setattr(module, "make_wheel", lambda python, source, folder: wheel(folder))
    return module


def wheel(folder, *, suffix=SUFFIX, cuda=True):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "marius_lite-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"marius_lite/_native{suffix}", "module")
        packed.writestr("marius_lite/__init__.py", "of the wheel")
        if cuda:
            packed.writestr("marius_lite/libmarius_cuda.so", "cuda")
    return path


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("with_git", [True, False])
def test_a_bundle_has_the_sources_the_native_files_and_the_data(bundle, modules, tmp_path, with_git, capsys):
    if with_git:
        git(tmp_path / "tree", "init", "-q")
        git(tmp_path / "tree", "add", "csrc", "scripts", "README.md")  # new files that are not ignored belong to it as well
    data = tmp_path / "fb"
    data.mkdir()
    for name in ("train.txt", "valid.txt", "test.txt", "other.txt"):
        (data / name).write_text(name)
    assert bundle.main([str(tmp_path / "made"), "--data", str(data)]) == 0
    made = tmp_path / "made"
    kept = {name for name in TREE if name not in (".gitignore", "docs/gpu_check/nvidia.jsonl")} | {"pyproject.toml"}
    prebuilt = {"prebuilt/hash", "prebuilt/marius_lite-0.1.0-cp311-cp311-linux_x86_64.whl"}
    expected = {f"source/{name}" for name in kept | prebuilt}
    assert files(made) == expected | {"run", "requirements.txt", "data/train.txt", "data/valid.txt", "data/test.txt"}
    assert os.access(made / "run", os.X_OK)
    assert os.access(made / "source/scripts/gpu_check", os.X_OK)
    hashed = modules("sources").source_hash
    assert (made / "source/prebuilt/hash").read_text().strip() == hashed(made / "source") == hashed(tmp_path / "tree")
    assert modules("build").fitting_wheel(made / "source")
    assert "cp311-cp311-linux_x86_64" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"tree", "fb", "made"}


def git(folder, *command):
    subprocess.run(["git", *command], cwd=folder, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})


def test_the_packages_are_named_as_they_are_installed(modules):
    lines = modules("bundle").requirements()
    assert "PyYAML>=6" in lines
    assert "torch>=2.6" in lines
    assert "nanobind==3.1.0" in lines
    packages = modules("machine").PACKAGES
    assert len(lines) == len({name for names in packages.values() for name in names})
    assert all(any(mark in line for mark in "<>=") for line in lines)


def test_the_checkout_makes_a_bundle_whose_script_runs(modules, tmp_path, monkeypatch):
    monkeypatch.setattr(modules("bundle"), "make_wheel", lambda python, source, folder: wheel(folder))
    assert modules("bundle").main([str(tmp_path / "made")]) == 0
    source = tmp_path / "made/source"
    assert modules("sources").source_hash(source) == modules("sources").source_hash(ROOT)
    for name in ("tests/cuda/test_on_gpu.py", "tests/conftest.py", "docs/examples/fb15k-237-complex.yaml", "scripts/build"):
        assert (source / name).exists()
    done = subprocess.run([sys.executable, source / "scripts/gpu_check", "fly"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "fly" in done.stderr


def refused(bundle, capsys, *arguments):
    code = bundle.main([str(argument) for argument in arguments])
    (line,) = capsys.readouterr().err.splitlines()
    return code, line


def test_an_existing_folder_is_refused_and_stays(bundle, tmp_path, capsys):
    (tmp_path / "made").mkdir()
    (tmp_path / "made/mine").write_text("precious")
    code, line = refused(bundle, capsys, tmp_path / "made")
    assert (code, line) == (2, f"gpu_check: {tmp_path / 'made'} exists")
    assert files(tmp_path / "made") == {"mine"}


def test_a_bundle_that_is_too_large_is_refused_and_goes_away(bundle, tmp_path, capsys, monkeypatch):
    assert bundle.main([str(tmp_path / "first")]) == 0
    capsys.readouterr()
    monkeypatch.setattr(bundle, "MOST", bundle.size_of(tmp_path / "first") - 1)
    code, line = refused(bundle, capsys, tmp_path / "made")
    assert code == 2
    assert "is the most" in line
    assert {path.name for path in tmp_path.iterdir()} == {"tree", "first"}
    monkeypatch.setattr(bundle, "MOST", bundle.MOST + 1)
    assert bundle.main([str(tmp_path / "made")]) == 0


@pytest.mark.parametrize("why", ["no data", "no wheel", "no cuda", "no parent", "no python"])
def test_a_bundle_that_cannot_be_whole_is_not_made(bundle, modules, tmp_path, capsys, monkeypatch, why):
    more, folder = [], tmp_path / "made"
    if why == "no data":
        (tmp_path / "tree/train.txt").touch()
        more = ["--data", tmp_path / "tree"]
    elif why == "no parent":
        folder = tmp_path / "not/there"
    elif why == "no cuda":
        monkeypatch.setattr(bundle, "make_wheel", lambda python, source, folder: wheel(folder, cuda=False))
    else:
        monkeypatch.undo()
        monkeypatch.syspath_prepend(str(ROOT / "scripts"))
        monkeypatch.setattr(bundle, "ROOT", tmp_path / "tree")
        more = ["--python", "/bin/false" if why == "no wheel" else tmp_path / "no python"]
    code, line = refused(bundle, capsys, folder, *more)
    assert code == (2 if why in ("no data", "no parent") else 1)
    assert {"no data": "valid.txt, test.txt", "no wheel": "exit code 1", "no cuda": "nvcc"}.get(why, "no") in line
    assert {path.name for path in tmp_path.iterdir()} == {"tree"}


def test_a_wheel_is_taken_where_it_is_of_this_python_and_these_sources(modules, tmp_path):
    build = modules("build")
    (tmp_path / "csrc/cuda").mkdir(parents=True)
    (tmp_path / "csrc/cuda/api.h").write_text("old")
    made = wheel(tmp_path / "prebuilt")
    assert build.fitting_wheel(tmp_path) is None  # nobody says of which sources it is
    (tmp_path / "prebuilt/hash").write_text(modules("sources").source_hash(tmp_path))
    assert build.fitting_wheel(tmp_path) == made
    wheel(tmp_path / "prebuilt", suffix=".cpython-399-x86_64-linux-gnu.so")
    assert build.fitting_wheel(tmp_path) is None
    wheel(tmp_path / "prebuilt")
    (tmp_path / "csrc/cuda/api.h").write_text("new")
    assert build.fitting_wheel(tmp_path) is None


@pytest.mark.parametrize(
    ("with_wheel", "finds", "code", "told"),
    [
        (True, [True], 0, {"detail": "taken from marius_lite-0.1.0-cp311-cp311-linux_x86_64.whl"}),
        (True, [False, True], 0, {"detail": "built here"}),
        (False, [True], 0, {"detail": "built here"}),
        (False, [False], 1, {"failed": "the CUDA library was not built, cannot be loaded, or finds no GPU"}),
        (False, [], 1, {"failed": "scripts/build failed"}),
    ],
)
def test_what_came_along_is_used_where_it_works_and_else_built(
    modules, tmp_path, monkeypatch, capfd, with_wheel, finds, code, told
):
    build = modules("build")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/build").write_text("#!/bin/sh\necho built >>built\n" + ("" if finds else "exit 1\n"))
    (tmp_path / "scripts/build").chmod(0o755)
    if with_wheel:
        wheel(tmp_path / "prebuilt")
        (tmp_path / "prebuilt/hash").write_text(modules("sources").source_hash(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    answers = iter(finds)
    monkeypatch.setattr(build, "finds_gpu", lambda: next(answers))
    assert build.main() == code
    assert json.loads(capfd.readouterr().out) == told
    natives = {f"marius_lite/_native{SUFFIX}", "marius_lite/libmarius_cuda.so"}
    taken = with_wheel and finds == [True]
    assert files(tmp_path) & natives == (natives if taken else set())
    assert (tmp_path / "built").exists() is not taken
    assert not (tmp_path / "marius_lite/__init__.py").exists()


@pytest.mark.parametrize("last", [0, 1, 2])
@pytest.mark.parametrize("data", [True, False])
def test_run_calls_until_nothing_is_left(modules, tmp_path, last, data):
    (tmp_path / "source/scripts").mkdir(parents=True)
    script = "import sys\nfrom pathlib import Path\ncalls = Path('../calls')\n"
    script += "calls.open('a').write(' '.join(sys.argv[1:]) + '\\n')\n"
    script += f"sys.exit(3 if len(calls.read_text().splitlines()) < 3 else {last})\n"
    (tmp_path / "source/scripts/gpu_check").write_text(script)
    (tmp_path / "run").write_text(modules("bundle").RUN)
    (tmp_path / "run").chmod(0o755)
    if data:
        (tmp_path / "data").mkdir()
    done = subprocess.run([tmp_path / "run", "--limit", "9"], cwd="/", env={**os.environ, "PYTHON": sys.executable}, timeout=60)
    assert done.returncode == last
    expected = "all --record ../record " + ("--data ../data " if data else "") + "--limit 9"
    assert (tmp_path / "calls").read_text().splitlines() == [expected] * 3
