/* SPDX-License-Identifier: BSD-3-Clause */
/* signals - what a program that we start finds set up for signals. */
#ifndef SCHEDULER_PROTO_SIGNALS_H
#define SCHEDULER_PROTO_SIGNALS_H

/* Nothing is handled, ignored or blocked. System calls only: for a child between fork and exec. */
void signals_reset(void);

#endif
