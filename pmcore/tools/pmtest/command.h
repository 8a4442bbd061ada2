/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command - what node 0 tells node 1 to do, and its answers: datagrams of one fixed layout between
 * the messages of the tests. PM's order makes them enough. Both nodes run on like machines of the
 * same release (boot checks it); the magic finds out when not.
 */
#ifndef PMTEST_COMMAND_H
#define PMTEST_COMMAND_H

#include <stdint.h>

#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/common/session.h"

enum command_type {
	COMMAND_HELLO = 1, /* size: our MTU; answered by HELLO, size: the MTU of both */
	COMMAND_ECHO,      /* send back count messages */
	COMMAND_SINK,      /* take count messages, say DONE */
	COMMAND_EXCHANGE,  /* take and send count messages, say DONE */
	COMMAND_EXPORT,    /* export size bytes; READY has the handle */
	COMMAND_WITHDRAW,  /* check the region if asked, forget it; answered by VERDICT */
	COMMAND_QUIT,
	COMMAND_READY,   /* answer: buffers are there, start */
	COMMAND_DONE,    /* answer: everything has arrived */
	COMMAND_VERDICT, /* answer: the data were right, or is_wrong and where */
};

struct command {
	uint64_t magic;
	uint32_t type;       /* enum command_type */
	uint32_t is_checked; /* each message is filled and verified; a region: verify it */
	uint64_t size;       /* of a message or region, bytes */
	uint64_t count;      /* messages */
	uint64_t seed;       /* of the data: message i has seed + i when checked, else seed */
	pmHandle handle;     /* of the region */
	uint32_t is_wrong;   /* VERDICT: fault is valid */
	uint32_t zero;
	uint64_t message; /* VERDICT: number of the wrong one */
	uint64_t offset;  /* struct pattern_fault of it */
	uint8_t expected, got;
	uint8_t pad[6];
};

int command_send(struct session *s, const struct command *command);
/* The next datagram, which must be a command of this type; 0: any type. */
int command_receive(struct session *s, enum command_type type, struct command *ret_command);
/* Reports the first wrong byte; -EBADMSG. */
int command_report(uint32_t node, uint64_t message, const struct pattern_fault *fault);

#endif
