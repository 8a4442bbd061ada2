# SPDX-License-Identifier: BSD-3-Clause
"""Settings that all tests here share."""
import os

from hypothesis import settings

# Other tests load the processors meanwhile: the time that an example took says nothing about the code.
# TEST_EXAMPLES: how many a property gets whose test names no number, 100 otherwise.
settings.register_profile("openscore", deadline=None, max_examples=int(os.environ.get("TEST_EXAMPLES", "100")))
settings.load_profile("openscore")
