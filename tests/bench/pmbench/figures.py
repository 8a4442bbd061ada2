# SPDX-License-Identifier: BSD-3-Clause
"""All figures by name."""
from . import shmem, udp

ALL = {f.name: f for f in [*shmem.FIGURES, *udp.FIGURES]}
