"""One look for every figure, maps, graphs, and charts that move without a kernel."""

import sys

import lazy_loader as _lazy

# As in dpsim.runner: without this module jsonschema, which altair imports, builds no grammar that nothing here uses.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
