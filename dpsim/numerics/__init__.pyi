from . import special as special, hockey_stick as hockey_stick, simplex as simplex
