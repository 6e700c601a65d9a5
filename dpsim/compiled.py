"""numba's decorators, with caches that are used where they can be and never required.

numba refuses to decorate where it can write no cache, for example in a read-only
installation with an unwritable home folder. It also stops at a cache that is damaged.
Here, functions are compiled anew in these cases.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba
from numba.core.caching import Cache

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
