/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl_pm_batch - see mtl_pm_batch.c. */
#ifndef MTL_PM_BATCH_H
#define MTL_PM_BATCH_H

#include "mpi-glue/mtl/mtl_pm.h"

/* False: threads can't be counted, and stay as they are. */
bool mtl_pm_batch_start(void);
void mtl_pm_batch_stop(void);
/* The calling thread is one of those that call MPI. Lock held. */
void mtl_pm_batch_join(void);

#endif
