/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parted - a scstepd that has closed all of its links, as for a checkpoint. While it has none, the
 * processes of the job are looked at, and written down if that is wanted; then a signal has it come
 * back. One that was parted from
 * another scnoded, which has ended meanwhile, is woken as well. For scnoded's loop.
 */
#ifndef SCHEDULER_SCNODED_PARTED_H
#define SCHEDULER_SCNODED_PARTED_H

#include <jansson.h>

#include "scheduler/scnoded/scnoded.h"

/* It tells that it closes its link: OP_PARTED. */
void parted_announced(struct step *step, const json_t *head);
/*
 * The link is closed. @woken() follows when it was looked at, and dumped if that is wanted, maybe
 * at once. Then it has its signal; or it is there already, and waits for parted_back().
 */
void parted_closed(struct step *step, void (*woken)(struct step *step));
/*
 * It has come back. The answer to it: OP_REJOINED with what was found meanwhile. NULL: it is being
 * dumped just now, and @woken() will follow.
 */
json_t *parted_back(struct step *step);
/*
 * It was restored in that state: it is woken, and will be told that all is well. @devices: its
 * ranks are to open these; NULL: those that they had.
 */
void parted_restored(struct step *step, const char *devices);
/* Sends the signal: whether it has parted or not, it is harmless. */
void parted_wake(const struct step *step);
void parted_forget(struct step *step);

#endif
