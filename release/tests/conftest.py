"""What hypothesis tries: the same cases in every run, others in `make fuzz`."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None)
settings.register_profile("long", derandomize=False)
settings.load_profile("fixed")
