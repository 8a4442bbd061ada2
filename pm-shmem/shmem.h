/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmem - the reliable link between the processes of one job on one host, through a shared segment.
 * This is all the rest of the suite sees of it.
 */
#ifndef PM_SHMEM_SHMEM_H
#define PM_SHMEM_SHMEM_H

#include "pm_device.h"

extern const struct pm_link_ops pm_shmem_ops;

#endif
