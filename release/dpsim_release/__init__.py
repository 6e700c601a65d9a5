"""A private Markov chain from a table of events."""

__version__ = "0.3.0"

try:
    import dpsim
    from dpsim.faces import attach as _attach
except ImportError:
    dpsim = None  # type: ignore[assignment]

if dpsim is None or dpsim.__version__ != __version__:
    raise ImportError(
        f"dpsim_release {__version__} needs dpsim {__version__}: run "
        "`pip install -e . -e ./release` in the clone"
    )

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
