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
/* The queue pairs of datagrams, and what their Q_Keys are made of. */
enum pmv_datagrams {
	PMV_GREETINGS = 0x504d5631, /* "PMV1": of the link */
	PMV_PACKETS,                /* of the packet device */
};
/*
 * The Q_Key of such queue pairs of a job: a device drops datagrams that have another one. It tells
 * nothing of the job's key.
 */
uint32_t pmv_q_key(uint64_t job_key, enum pmv_datagrams of);
/* The way from entry @gid of our port to the other end. */
void pmv_path(const struct pmv_port *port, int gid, const struct pmv_end *end,
	      struct ibv_ah_attr *ret);

#endif
