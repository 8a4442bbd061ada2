/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - what outlives the daemon: the file RUN/state with the contexts it has granted, and the
 * board, which running processes go on reading. Only root can read the former; it holds job keys.
 */
#ifndef PM_ETHERNET_DAEMON_STATE_H
#define PM_ETHERNET_DAEMON_STATE_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/* Writes the contexts there are. A failure is said, and costs only a later adoption. */
void ethd_state_save(struct ethd *d);
/*
 * Takes over contexts of an earlier daemon whose processes live; their number, or -EINVAL with a
 * sentence when they were granted under other options. Says in d->is_resumed whether maps and board
 * are to be gone on with.
 */
int ethd_state_load(struct ethd *d, char *why, size_t why_size);
/* Maps RUN/board; @is_new: an empty one takes the place of an old one. */
int ethd_board_open(struct ethd *d, bool is_new, char *why, size_t why_size);
/* Removes both files. */
void ethd_state_remove(struct ethd *d);

#endif
