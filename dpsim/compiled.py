"""numba's decorators, with caches that are used where they can be and never required.

numba refuses to decorate where it can write no cache, for example in a read-only
installation with an unwritable home folder. It also stops at a cache that is damaged.
And it keeps a cache when a function of another file that was compiled into it has
changed, which can crash Python. Here, functions are compiled anew in these cases.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import Cache
from numba.core.caching import _SourceFileBackedLocatorMixin as Locator

PACKAGE = Path(__file__).parent

_load = Cache.load_overload
_save = Cache.save_overload


def _load_if_sound(self: Cache, *key: Any) -> Any:
    """Return what the cache holds, or None, which compiles, if it is damaged."""
    try:
        return _load(self, *key)
    except Exception:  # unpickling what is damaged may raise anything
        return None


def _save_if_possible(self: Cache, *entry: Any) -> None:
    """Save what was compiled, in a new cache if the one that exists is damaged."""
    with suppress(OSError):  # for example on a full disk
        try:
            _save(self, *entry)
        except OSError:
            raise
        except Exception:
            self.flush()
            _save(self, *entry)


@functools.cache
def sources() -> str:
    """Return a hash of all files of the package with functions that are compiled."""
    texts = sorted(path.read_bytes() for path in PACKAGE.rglob("*.py"))
    return hashlib.sha256(b"".join(t for t in texts if b"njit" in t)).hexdigest()


_stamp = Locator.get_source_stamp


def _stamp_of_package(self: Any) -> Any:
    """Return numba's stamp of a source file and, for a file of the package, the hash of
    all such files, because functions of one are compiled into those of another."""
    stamp = _stamp(self)
    inside = Path(self._py_file).is_relative_to(PACKAGE)
    return (stamp, sources()) if inside else stamp


Locator.get_source_stamp = _stamp_of_package
# one place for all of numba's caches: those of functions and those of ufuncs' wrappers
Cache.load_overload = _load_if_sound
Cache.save_overload = _save_if_possible


def _compiled(
    decorator: Callable[..., Any], *signatures: str, **options: Any
) -> Callable[..., Any]:
    """Return numba's decorator, with a cache if there is a place for one."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return decorator(*signatures, cache=True, **options)(function)
        except RuntimeError:  # there is none
            return decorator(*signatures, **options)(function)

    return decorate


njit = partial(_compiled, numba.njit)
vectorize = partial(_compiled, numba.vectorize)
guvectorize = partial(_compiled, numba.guvectorize)
