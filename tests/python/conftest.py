# SPDX-License-Identifier: BSD-3-Clause
"""What all tests here share."""
from hypothesis import settings

# Other tests load the processors meanwhile: how long an example took tells nothing of the code.
settings.register_profile("openscore", deadline=None)
settings.load_profile("openscore")
