/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * moved - sets right what is different for a scstepd that was restored from its image, maybe on
 * another host. Its hosts have other addresses, and processes have other numbers. Its ranks may be
 * told to open other devices. The limit of memory is this host's. CRIU does not keep the cores of
 * ranks.
 */
#ifndef SCHEDULER_SCSTEPD_MOVED_H
#define SCHEDULER_SCSTEPD_MOVED_H

#include <jansson.h>

#include "scheduler/scstepd/step.h"

/*
 * By scnoded's OP_REJOINED with an order. NULL; or why the job can't go on, which is valid until
 * the next call.
 */
const char *moved_take(struct step *step, const json_t *head);

#endif
