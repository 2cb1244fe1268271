"""Which modules a configuration may name without the user's word."""

import json
import sys

import pytest

from marius_lite.errors import UserError
from marius_lite.own_code import VARIABLE, allowing_code, code_allowed, require_installed


@pytest.mark.parametrize("module", ["json", "json.decoder", "sys", "numpy", "numpy.linalg", "yaml"])
def test_installed_modules_are_allowed(module):
    require_installed(module, "m")


@pytest.mark.parametrize("place", ["evil.py", "evil/__init__.py", "evil/inner.py"])
def test_others_are_refused_and_not_run(place, tmp_path, monkeypatch):
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("evil", "evil.inner"):
        with pytest.raises(UserError, match=r"^m: would run .*evil.*, which is not an installed package: .*--allow-code"):
            require_installed(module, "m")
    assert not (tmp_path / "ran").exists()


def test_a_module_that_stands_before_an_installed_one(tmp_path, monkeypatch):
    (tmp_path / "colorsys.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with pytest.raises(UserError, match="would run"):
        require_installed("colorsys", "m")
    with pytest.raises(UserError, match="no package 'nowhere' is installed"):
        require_installed("nowhere.to", "m")
    assert json


def test_the_word_holds_for_one_command(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with allowing_code(True):
        assert code_allowed()
        with allowing_code(False):
            assert code_allowed()
    assert not code_allowed()
    monkeypatch.setenv(VARIABLE, "1")
    assert code_allowed()
