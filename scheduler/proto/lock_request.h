/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock_request - which hosts somebody wants to lock, and how: what "lock" carries and what
 * scored's journal keeps.
 */
#ifndef SCHEDULER_PROTO_LOCK_REQUEST_H
#define SCHEDULER_PROTO_LOCK_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LOCK_HOSTS_MAX 65536
#define LOCK_TEXT_MAX 200 /* bytes of a reason or a place: both stand in sentences */
#define LOCK_LEASE_S 60
#define LOCK_LEASE_MIN_S 5
#define LOCK_LEASE_MAX_S 3600

struct lock_request {
	char **hosts; /* names, and a NULL behind them */
	size_t n_hosts;
	size_t count; /* any so many of them; n_hosts: all */
	bool is_exclusive;
	bool may_scatter; /* need not be neighbours in the list */
	bool may_wait, is_forced;
	char *reason, *place; /* may be "" */
	int lease_s;
};

/* 0 or -EINVAL, -ENOMEM with a sentence. */
int lock_request_decode(struct lock_request **ret, const json_t *from, char *why, size_t why_size);
/* NULL: no memory. */
json_t *lock_request_encode(const struct lock_request *request);
void lock_request_free(struct lock_request *request);

#endif
