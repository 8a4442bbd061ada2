# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs of Debian over PM and over Open MPI's own transports: tests/bench/apps."""
