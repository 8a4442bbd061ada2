/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parent - the hosts above us in trees of OP_PUT: the acceptor they come by, and their connections,
 * over which they may send files and nothing else. Only our own user's are let in.
 */
#ifndef SCHEDULER_SCREMOTE_PARENT_H
#define SCHEDULER_SCREMOTE_PARENT_H

#include <ev.h>

#include "scheduler/proto/acceptor.h"
#include "scheduler/scremote/agent.h"

#define PARENTS_MAX 256 /* at once; the oldest stranger goes when one more comes */

struct parents;

/* Listens at any port. NULL with errno. */
struct parents *parents_open(struct agent *agent);
int parents_port(const struct parents *parents);
void parents_close(struct parents *parents);

#endif
