# SPDX-License-Identifier: BSD-3-Clause
"""Who does which part of a send, process or kernel: tests/bench/study."""
