"""What is shown of an address has no user and no password, whatever characters these are made of."""

from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.errors import UserError
from marius_lite.preprocess.databases.address import hide_secrets
from marius_lite.preprocess.databases.snapshot import address_of

PASSWORD = "Zq9%/@:?#&='x"


@pytest.mark.parametrize("written", [PASSWORD, quote(PASSWORD, safe="")])
@pytest.mark.parametrize("form", ["postgresql://me:{}@host:5432/db?sslmode=disable", "postgresql://host/db?user=me&password={}"])
def test_no_password_is_shown(form, written):
    address = address_of(form.format(written))
    assert "Zq9" not in address.shown + repr(address)
    assert "x" not in address.shown.partition("host")[2]
    driver = f"failed: {form.format(written)} or {written} or {PASSWORD}"
    assert form.startswith("postgresql://host") or "Zq9" not in address.redact(driver)


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\n", codec="ascii"), min_size=1, max_size=20), st.text("abc", max_size=5))
def test_an_encoded_password_is_in_nothing_that_is_said(password, around):
    marked = f"<{password}>"
    address = address_of(f"postgres://me:{quote(marked, safe='')}@host/db")
    assert address.shown == "postgresql://host/db"
    assert marked not in address.redact(f"{around}{marked}{around} {quote(marked, safe='')}")
    assert quote(marked, safe="") not in address.redact(quote(marked, safe=""))


def test_the_password_of_the_environment_is_not_shown(monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "hush")
    assert address_of("postgresql://host/db").redact("no entry: hush\n wrong") == "no entry: *** wrong"


def test_secrets_in_a_query():
    query = "SELECT * FROM dblink('host=h password=hush user=u', 'SELECT 1') WHERE token = 'secret one'"
    assert hide_secrets(query) == "SELECT * FROM dblink('host=h password=*** user=u', 'SELECT 1') WHERE token = ***"


def test_paths():
    assert str(address_of("sqlite:///a/b.db").path) == "a/b.db"
    assert str(address_of("duckdb:////a/b.duckdb").path) == "/a/b.duckdb"


@pytest.mark.parametrize("uri", ["mysql://me:hush@h/d", "me:hush@h/d", "hush.db", ""])
def test_other_databases_are_refused(uri):
    with pytest.raises(UserError, match="must be sqlite:///FILE, duckdb:///FILE or postgresql://") as raised:
        address_of(uri)
    assert "hush@" not in str(raised.value)
