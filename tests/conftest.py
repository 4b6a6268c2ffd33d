"""What holds for all tests."""

from hypothesis import settings

# how long one example takes says more about what else the machine does than about the code
settings.register_profile("gemmlab", deadline=None)
settings.load_profile("gemmlab")
