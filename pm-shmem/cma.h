/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cma - copying between address spaces by process_vm_readv/writev, and the measurement that tells
 * whether that is faster than the copy ring. Knows processes by pid only.
 */
#ifndef PM_SHMEM_CMA_H
#define PM_SHMEM_CMA_H

#include <stddef.h>
#include <stdint.h>

#include "pm-shmem/layout.h"

/*
 * Copies @len bytes from (to) address @remote of process @pid. 0 or -errno (-EPERM, -ESRCH,
 * -EFAULT).
 */
int pms_cma_read(uint32_t pid, uint64_t remote, void *local, size_t len);
int pms_cma_write(uint32_t pid, uint64_t remote, const void *local, size_t len);

/* Takes about 1 ms. */
enum pms_large pms_cma_measure(void);

#endif
