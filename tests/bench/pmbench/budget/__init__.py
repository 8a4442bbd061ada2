# SPDX-License-Identifier: BSD-3-Clause
"""Where the time of a message goes: tests/bench/budget."""
