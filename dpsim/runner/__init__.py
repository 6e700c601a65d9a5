"""Runs notebooks with papermill: parameters, keys, workers, grids."""

import sys

import lazy_loader as _lazy

# jsonschema builds its optional grammar of internationalised URIs while nbformat is imported: most of the start-up
# time of a command, for a format no notebook uses. Without the module it leaves that format out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
