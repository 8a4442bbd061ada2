# SPDX-License-Identifier: BSD-3-Clause
"""scorectl - what scqueue, scancel, scinfo and sctop are made of."""
