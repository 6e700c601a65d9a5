"""Fixtures for all tests, and what hypothesis tries: the same cases in every run,
others in `make fuzz`."""

from hypothesis import settings
from toy_project import toy  # noqa: F401

settings.register_profile("fixed", derandomize=True, database=None)
settings.register_profile("long", derandomize=False)
settings.load_profile("fixed")
