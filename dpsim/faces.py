"""The names that a package shows: each is loaded when it is first used."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import lazy_loader


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from its stub.

    Parameters
    ----------
    package, file : str
        The package's `__name__` and `__file__`. The stub beside the file imports the
        public names.

    Using an unknown name raises an AttributeError that suggests the nearest name.
    """
    load, show, names = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if name in names or name.startswith("_"):
            return load(name)
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        question = f": did you mean {close[0]}?" if close else ""
        raise AttributeError(f"{package} has no {name!r}{question}", name=name)

    return get, show, names
