# SPDX-License-Identifier: BSD-3-Clause
#
# The one exception of the lab: a line for the user and the exit status that goes with it.
# sclab(1) lists the statuses.

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_LAB = 3
EXIT_REFUSED = 4
EXIT_NOT_ROOT = 5
EXIT_EXEC_FAILED = 125


class LabError(Exception):
    def __init__(self, text, status=EXIT_FAILED):
        super().__init__(text)
        self.status = status
