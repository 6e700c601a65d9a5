"""Axes to draw on, and the table that a moving chart holds."""

import io

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest


@pytest.fixture
def axes():
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 7.0), layout="constrained")
    yield axes
    plt.close(figure)


@pytest.fixture
def ax():
    figure, ax = plt.subplots(figsize=(7.2, 7.0), layout="constrained")
    yield ax
    plt.close(figure)


@pytest.fixture
def held():
    return lambda moving, name="table": pd.read_csv(
        io.StringIO(moving.spec["datasets"][name])
    )
