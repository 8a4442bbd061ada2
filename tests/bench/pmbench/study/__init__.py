# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a send in process and kernel: tests/bench/study."""
