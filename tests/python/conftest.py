# SPDX-License-Identifier: BSD-3-Clause
"""Settings that all tests here share."""
from hypothesis import settings

# Other tests load the processors meanwhile: the time that an example took says nothing about the code.
settings.register_profile("openscore", deadline=None)
settings.load_profile("openscore")
