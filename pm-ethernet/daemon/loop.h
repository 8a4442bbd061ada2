/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop - waits for whatever happens next and gives it to the part it belongs to. One event at a
 * time, so that a part may close descriptors that have events waiting.
 */
#ifndef PM_ETHERNET_DAEMON_LOOP_H
#define PM_ETHERNET_DAEMON_LOOP_H

#include "pm-ethernet/daemon/ethd.h"

int ethd_loop_open(struct ethd *d);
/* Until SIGTERM or SIGINT; 0 or -errno. */
int ethd_loop_run(struct ethd *d);

#endif
