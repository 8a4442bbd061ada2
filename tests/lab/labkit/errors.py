# SPDX-License-Identifier: BSD-3-Clause
#
# The one exception of the lab: a line for the user and the exit status that goes with it.
# sclab(1) lists the statuses.

import errno

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_LAB = 3
EXIT_REFUSED = 4
EXIT_NOT_ROOT = 5
EXIT_EXEC_FAILED = 125

# The kernel's answers where it gives namespaces and mounts to nobody: in containers, or by its limits.
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.ENOSYS, errno.EROFS)


def status_of(number):
    """The exit status for an error of the system."""
    return EXIT_NOT_ROOT if number in REFUSALS else EXIT_FAILED


class LabError(Exception):
    def __init__(self, text, status=EXIT_FAILED):
        super().__init__(text)
        self.status = status
