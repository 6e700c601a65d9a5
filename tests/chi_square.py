"""The chi-square test of draws against a law."""

import numpy as np
from scipy import stats


def p_value(observed, law):
    """The p-value of counts against probabilities; the rarest classes are one, so that
    ten are expected in each."""
    order = np.argsort(law)
    seen = observed[order]
    mean = law[order] * observed.sum() / law.sum()
    rare = max((mean < 10).sum(), np.searchsorted(np.cumsum(mean), 10) + 1)
    seen, mean = (np.append(each[:rare].sum(), each[rare:]) for each in (seen, mean))
    return stats.chi2.sf(((seen - mean) ** 2 / mean).sum(), max(len(mean) - 1, 1))
