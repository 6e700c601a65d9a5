"""The place of dpsim_release up to version 0.2."""

raise ImportError(
    "dpsim.release is now dpsim_release: run `pip install -e . -e ./release` in "
    "the clone, and then `import dpsim_release`"
)
