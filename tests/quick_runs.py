"""The values of parameters in quick runs, which the comments of a notebook's parameters
give at their end."""

from typing import Any

from dpsim.notebook import Parameter


def quick_value(parameter: Parameter) -> Any:
    """Return the value that a comment gives for a quick run, as in "; quick 50", and
    else the default."""
    text = parameter.help.partition("; quick ")[2]
    return parameter.read(text) if text else parameter.default
