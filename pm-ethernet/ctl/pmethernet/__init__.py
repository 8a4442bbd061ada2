# SPDX-License-Identifier: BSD-3-Clause
"""pmethernet - what an administrator sees of pm-ethernet and does to its NICs."""
