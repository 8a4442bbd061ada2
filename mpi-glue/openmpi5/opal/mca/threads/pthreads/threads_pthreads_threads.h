/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads_pthreads_threads - stands for the header of this name that Open MPI 5 leaves out when it
 * is installed.
 */
#ifndef MTL_PM_OPENMPI5_THREADS_H
#define MTL_PM_OPENMPI5_THREADS_H

#include "opal/mca/threads/threads.h"

#include <sched.h>

static inline void opal_thread_yield(void)
{
	sched_yield();
}

#endif
