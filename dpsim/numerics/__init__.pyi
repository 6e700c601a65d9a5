from . import special as special, hockey_stick as hockey_stick, search as search, simplex as simplex
