/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session - a tool's part in a job: the boot it came by, the PM context on top, and who the others
 * are. Turns PM's errors into sentences that name the node, and into -errno.
 */
#ifndef TOOLS_SESSION_H
#define TOOLS_SESSION_H

#include <stdint.h>

#include "pm.h"
#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/wait.h"

struct session {
	struct boot *boot; /* owned */
	pmContext ctx;
	uint32_t self;      /* our node */
	uint32_t peer;      /* the other one, of a job of two; self when alone */
	uint32_t nodes;     /* of the job */
	size_t mtu;         /* datagram to the peer, bytes; 0 until session_meet_peer */
	const char *device; /* that serves the peer; static storage; NULL until then */
	struct wait wait;
};

/*
 * Opens the context, publishes its address, waits for the others. Takes @boot in any case.
 * @limit_s: longest silence of the others.
 */
int session_open(struct session *session, struct boot *boot, double limit_s);
/* Fills mtu and device. */
int session_meet_peer(struct session *session);
/* @rc 0: everything sent is delivered and the others are waited for. */
void session_close(struct session *session, int rc);

/* Reports that @call on @node gave @err, a PM error; the matching -errno. */
int session_failed(struct session *session, const char *call, uint32_t node, int err);
/* Reports what wait_idle gave while @what was awaited from @node; returns it. */
int session_gave_up(struct session *session, const char *what, uint32_t node, int rc);

#endif
