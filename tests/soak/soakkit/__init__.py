# SPDX-License-Identifier: BSD-3-Clause
"""The long run: faults, rounds in which they happen, and the report."""
