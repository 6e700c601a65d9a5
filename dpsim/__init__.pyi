from . import accounting as accounting
from . import boltzmann as boltzmann
from . import checks as checks
from . import datasets as datasets
from . import dirichlet as dirichlet
from . import figures as figures
from . import ledger as ledger
from . import markov as markov
from . import mdp as mdp
from . import noise as noise
from . import notebook as notebook
from . import numerics as numerics
from . import parameters as parameters
from . import paths as paths
from . import private as private
from . import runner as runner
from . import streams as streams
from . import words as words
from .released import load_release as load_release

__version__: str
