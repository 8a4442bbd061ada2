/* SPDX-License-Identifier: BSD-3-Clause */
/* trouble - rails that fail, and calls that a device refuses. */
#ifndef PM_VERBS_DATAGRAM_TROUBLE_H
#define PM_VERBS_DATAGRAM_TROUBLE_H

#include "pm-verbs/datagram/device.h"

/* The queue pair is in error: from now on the rail is down, until rail.c starts it again. */
void pmvd_rail_fail(struct pmvd_dev *d, struct pmvd_rail *rail, const char *what);

/* Packets can be posted to it. */
static inline bool pmvd_rail_is_running(const struct pmvd_rail *rail)
{
	return rail->qp && !rail->is_failed;
}

/* Remembers that a call that ends something failed, if @err (of either sign) says so. */
void pmvd_note_end(struct pmvd_dev *d, const char *what, int err);

#endif
