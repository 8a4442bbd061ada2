/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep - files in /dev/shm that processes of a user left there when they were killed: segments of Open MPI and of
 * PM that nobody maps or has open any more.
 */
#ifndef SCHEDULER_SCNODED_SWEEP_H
#define SCHEDULER_SCNODED_SWEEP_H

#include <sys/types.h>

void sweep_shared_memory(uid_t uid);

#endif
