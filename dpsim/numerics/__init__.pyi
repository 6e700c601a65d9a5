from . import (
    exact_draws as exact_draws,
    special as special,
    hockey_stick as hockey_stick,
    search as search,
    simplex as simplex,
)
