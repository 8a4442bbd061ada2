/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl_pm_batch - see mtl_pm_batch.c. */
#ifndef MTL_PM_BATCH_H
#define MTL_PM_BATCH_H

#include "mpi-glue/mtl/mtl_pm.h"

/* Counts the cores. */
void mtl_pm_batch_start(void);
/* The calling thread is one of those that call MPI; lock held. */
void mtl_pm_batch_join(void);

#endif
