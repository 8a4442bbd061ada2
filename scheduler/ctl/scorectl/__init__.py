# SPDX-License-Identifier: BSD-3-Clause
"""scorectl - what scqueue, scancel, scinfo, sctop and scpool are made of."""
