# SPDX-License-Identifier: BSD-3-Clause
"""watchdog - what sc_watch is made of: a daemon is started, asked again and again, and started anew."""
