# SPDX-License-Identifier: BSD-3-Clause
"""Figures of merit: each compares two contestants in short interleaved rounds."""
