/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_world - the number of an MPI_COMM_WORLD within its job, which a PM node carries, and Open MPI's job id, both
 * ways. Below mpirun the id has the number in its low half; below scrun the id is a hash of the PMIx namespace, whose
 * name ends in the number.
 */
#ifndef MTL_PM_WORLD_H
#define MTL_PM_WORLD_H

#include <stdint.h>

/* 0, or -ESRCH: that is no world of our job. */
int mtl_pm_world_of(uint32_t jobid, uint32_t *ret_world);
uint32_t mtl_pm_jobid_of(uint32_t world);

#endif
