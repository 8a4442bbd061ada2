/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * acceptor - a listening TCP socket, and the strangers in front of it until their preamble is in:
 * who sends none in time, or a wrong one, is shown out. Knows nothing of what comes behind.
 */
#ifndef SCHEDULER_PROTO_ACCEPTOR_H
#define SCHEDULER_PROTO_ACCEPTOR_H

#include <ev.h>
#include <stdint.h>

#define ACCEPTOR_PREAMBLE_S 5.0
#define ACCEPTOR_PENDING_MAX 4096 /* the oldest goes when one more comes */

struct acceptor;
/* Somebody who wants @job; the descriptor is the callee's. */
typedef void acceptor_enter(int fd, uint64_t job, void *owner);

/*
 * Listens on "ADDRESS:PORT", "PORT" (every address) or port 0 (any). NULL with errno: EADDRINUSE,
 * EACCES, EINVAL...
 */
struct acceptor *acceptor_open(struct ev_loop *loop, const char *where, acceptor_enter *enter,
			       void *owner);
int acceptor_port(const struct acceptor *acceptor);
void acceptor_close(struct acceptor *acceptor);

#endif
