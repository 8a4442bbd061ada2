// SPDX-License-Identifier: BSD-3-Clause
/*
 * terminal - from /dev/ptmx.
 */
#include "scheduler/scstepd/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int terminal_open(int *ret_ours, int *ret_rank)
{
	char name[64];
	int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), rank = -1, rc;

	if (ours < 0)
		return -errno;
	if (grantpt(ours) || unlockpt(ours)) {
		rc = -errno;
	} else {
		rc = -ptsname_r(ours, name, sizeof(name));
		rank = rc ? -1 : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (!rc && rank < 0)
			rc = -errno;
	}
	if (rc) {
		close(ours);
		return rc;
	}
	*ret_ours = ours;
	*ret_rank = rank;
	return 0;
}
