/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * terminal - the user's terminal: its size, whose turn it is to read from it, and raw mode for a
 * job whose rank has a terminal of its own. Raw mode ends with the process whatever ends it, kill
 * -9 excepted.
 */
#ifndef SCHEDULER_SCRUN_TERMINAL_H
#define SCHEDULER_SCRUN_TERMINAL_H

#include <stdbool.h>

/* Of the first of standard input, output and error that is one; 0 x 0 = none is. */
void terminal_size(int *columns, int *rows);
/* Whether we may read from @fd: no terminal, or one whose foreground we are in. */
bool terminal_is_ours(int fd);

/*
 * Raw mode of @fd, if that is a terminal of ours. 0 or -errno; -ENOTTY, -EAGAIN: in the background.
 */
int terminal_make_raw(int fd);
/* As it was before. Twice is fine. */
void terminal_restore(void);
bool terminal_is_raw(void);

#endif
