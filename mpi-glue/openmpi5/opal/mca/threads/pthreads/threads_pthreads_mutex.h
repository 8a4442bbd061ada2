/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * threads_pthreads_mutex - stands for the header of this name that Open MPI 5 leaves out when it is
 * installed: what its other headers need of it.
 */
#ifndef MTL_PM_OPENMPI5_MUTEX_H
#define MTL_PM_OPENMPI5_MUTEX_H

#include "opal/class/opal_object.h"
#include "opal/constants.h"

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

/*
 * Inline functions of those headers name these too. The component uses none: one that did would not
 * link.
 */
int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *mutex);
int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t *mutex, bool is_recursive);
void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t *mutex);
int opal_thread_internal_cond_init(opal_thread_internal_cond_t *cond);
void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t *cond);
void opal_thread_internal_cond_wait(opal_thread_internal_cond_t *cond,
				    opal_thread_internal_mutex_t *mutex);
void opal_thread_internal_cond_signal(opal_thread_internal_cond_t *cond);
void opal_thread_internal_cond_broadcast(opal_thread_internal_cond_t *cond);

#endif
