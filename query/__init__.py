"""The query library: scored, explained recall from the views. It needs no broker and no event loop."""
