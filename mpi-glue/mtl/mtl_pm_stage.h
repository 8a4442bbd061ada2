/* SPDX-License-Identifier: BSD-3-Clause */
/* mtl_pm_stage - see mtl_pm_stage.c. */
#ifndef MTL_PM_STAGE_H
#define MTL_PM_STAGE_H

#include "mpi-glue/mtl/mtl_pm.h"

/* Reads the message, whose peer and handle are set, in pieces; false: that can't be done now. */
bool mtl_pm_stage_begin(struct mtl_pm_receive *r);
/*
 * Looks after it; the number of pieces that have come. *ret_over: it is over, with *ret_error;
 * NULL: not yet, or there is none.
 */
int mtl_pm_progress_stage(struct mtl_pm_receive **ret_over, int *ret_error);
/* Whether PM reads a piece. */
bool mtl_pm_stage_is_reading(void);
/* No message is staged any more, nor will be. */
void mtl_pm_stage_close(void);

#endif
