// SPDX-License-Identifier: BSD-3-Clause
/*
 * trouble - rails that fail, and calls that a device refuses. All parts note these here; a failed
 * rail is started again by rail.c, at the next look at its state.
 */
#include "pm-verbs/datagram/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pmvd_rail_fail(struct pmvd_dev *d, struct pmvd_rail *rail, const char *what)
{
	if (rail->is_failed)
		return;
	rail->is_failed = true;
	d->tx_waiting &= ~(1u << rail->index);
	snprintf(rail->trouble, sizeof(rail->trouble), "%s", what);
}

void pmvd_note_end(struct pmvd_dev *d, const char *what, int err)
{
	if (!err)
		return;
	d->n_refusals++;
	snprintf(d->refusal, sizeof(d->refusal), "%s: %s", what, strerror(abs(err)));
}
