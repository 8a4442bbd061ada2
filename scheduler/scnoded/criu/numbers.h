/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers - which numbers of processes CRIU and its helpers may have while they restore a job: none
 * that the job has itself. Chosen when the job stands still, and kept with its image.
 */
#ifndef SCHEDULER_SCNODED_CRIU_NUMBERS_H
#define SCHEDULER_SCNODED_CRIU_NUMBERS_H

#include <stddef.h>
#include <sys/types.h>

#define NUMBERS_FREE 512 /* in a row: CRIU starts a few helpers */

/*
 * The first of the highest NUMBERS_FREE free numbers in a row, below the smallest usual
 * kernel.pid_max if there are any. @taken is sorted by it. 0: there are none.
 */
pid_t numbers_choose(pid_t *taken, size_t n);
/*
 * Chooses among those that no thread, session or group of this pid namespace has, and writes the
 * number to a file in directory @dir. 0 or -errno.
 */
int numbers_write(int dir);
/* That number; 0: @dir is not the image of a job, or not whole. */
pid_t numbers_read(int dir);

#endif
