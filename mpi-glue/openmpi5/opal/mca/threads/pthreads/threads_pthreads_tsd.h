/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads_pthreads_tsd - stands for the header of this name that Open MPI 5 leaves out when it is
 * installed.
 */
#ifndef MTL_PM_OPENMPI5_TSD_H
#define MTL_PM_OPENMPI5_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

#endif
