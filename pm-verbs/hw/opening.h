/* SPDX-License-Identifier: BSD-3-Clause */
/* opening - what the link and the packet device have in common when they open a port. */
#ifndef PM_VERBS_HW_OPENING_H
#define PM_VERBS_HW_OPENING_H

#include "pm-verbs/hw/library.h"
#include "pm-verbs/hw/port.h"

/*
 * The library, or NULL with a sentence. It is not looked for where the kernel has no RDMA at all.
 */
const struct verbs *pmv_load(char *why, size_t why_size);
/* 0 or -errno, which is also in errno. */
int pmv_set_nonblocking(int fd);
/*
 * Writes the sentence about a call for @port that has left its error in errno, @what being its
 * failure in words. Returns the error that lets the composite go on without us: -EPERM (a limit
 * of this process or its group) or -ENODEV.
 */
int pmv_explain(const struct pmv_port *port, const char *what, char *why, size_t why_size);
/* The way from entry @gid of our port to the other end. */
void pmv_path(const struct pmv_port *port, int gid, const struct pmv_end *end,
	      struct ibv_ah_attr *ret);

#endif
