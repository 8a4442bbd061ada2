# SPDX-License-Identifier: BSD-3-Clause
"""Does the host of this virtual machine take back what is freed? Then the first use of a page is slow, in some rounds
and not in others (docs/bench/method.md)."""
from __future__ import annotations

import pathlib

ORDER = pathlib.Path("/sys/module/page_reporting/parameters/page_reporting_order")
ORDER_MOST = 10  # of a free block: nothing is reported from the next order on
WARNING = (f"this machine gives freed memory back to its host, so rounds differ: docs/bench/method.md says how to stop "
           f"that ({ORDER})")


def is_taken_back(order: pathlib.Path = ORDER) -> bool:
    """Free page reporting is on; without it the file is missing, or holds a number above every order."""
    try:
        return 0 <= int(order.read_text(encoding="ascii")) <= ORDER_MOST
    except (OSError, ValueError):
        return False
