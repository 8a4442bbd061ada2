/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * door - a listening TCP socket, and the strangers in front of it until their preamble is in: who
 * sends none in time, or a wrong one, is shown out. Knows nothing of what comes behind.
 */
#ifndef SCHEDULER_PROTO_DOOR_H
#define SCHEDULER_PROTO_DOOR_H

#include <ev.h>
#include <stdint.h>

#define DOOR_PREAMBLE_S 5.0
#define DOOR_STRANGERS_MAX 4096 /* the oldest goes when one more comes */

struct door;
/* Somebody who wants @job; the descriptor is the callee's. */
typedef void door_enter(int fd, uint64_t job, void *owner);

/*
 * Listens on "ADDRESS:PORT", "PORT" (every address) or port 0 (any). NULL with errno: EADDRINUSE,
 * EACCES, EINVAL...
 */
struct door *door_open(struct ev_loop *loop, const char *where, door_enter *enter, void *owner);
int door_port(const struct door *door);
void door_close(struct door *door);

#endif
