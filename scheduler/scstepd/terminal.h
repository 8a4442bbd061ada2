/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * terminal - a pseudo terminal for one rank.
 */
#ifndef SCHEDULER_SCSTEPD_TERMINAL_H
#define SCHEDULER_SCSTEPD_TERMINAL_H

/* 0 and both sides, close-on-exec; or -errno. */
int terminal_open(int *ret_ours, int *ret_rank);

#endif
