/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer - messages of any size between user memory of two nodes: cut into datagrams of the MTU,
 * copied into PM's buffers and out of them. The inner loops of every two-sided test; read no clock.
 * Each function returns 0 or -errno after saying why.
 */
#ifndef PMTEST_TRANSFER_H
#define PMTEST_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "pmcore/tools/common/session.h"

/* A message of 0 bytes is the smallest datagram. */
static inline size_t transfer_bytes(size_t size)
{
	return size ? size : 1;
}

int transfer_send(struct session *s, const void *from, size_t size);
int transfer_receive(struct session *s, void *to, size_t size);
/* @count times: sends and waits for the answer. */
int transfer_ping(struct session *s, const void *from, void *to, size_t size, uint64_t count);
/* @count times: waits for a message and sends it back. */
int transfer_echo(struct session *s, void *buf, size_t size, uint64_t count);
/*
 * Sends @n_out messages and receives @n_in at the same time, as PM allows each. All that are sent
 * come from @from, all that are received go to @to.
 */
int transfer_exchange(struct session *s, const void *from, uint64_t n_out, void *to, uint64_t n_in,
		      size_t size);

#endif
