"""Fixtures for all tests."""

from toy_project import toy  # noqa: F401
