"""The search for cycles is put off for the time of a batch, and no longer, in whatever process."""

from __future__ import annotations

import gc
import os

import pytest

from mnemolog.processors.garbage import no_search_for_cycles


def test_it_is_off_within_and_on_after_even_where_it_fails() -> None:
    assert gc.isenabled()
    with pytest.raises(RuntimeError), no_search_for_cycles():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()


def test_who_has_put_it_off_alone_finds_it_so() -> None:
    gc.disable()
    try:
        with no_search_for_cycles():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore")
def test_a_child_that_is_forked_within_searches_again() -> None:
    with no_search_for_cycles():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        assert not gc.isenabled()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
