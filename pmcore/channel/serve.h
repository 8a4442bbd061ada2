/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve - answers owed to the operations of other nodes; serve.c says how.
 */
#ifndef PM_CHANNEL_SERVE_H
#define PM_CHANNEL_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/channel/dlist.h"
#include "pmcore/wire/codec.h"

struct chan;
struct chan_peer;

/* An answer owed to a peer: a range to stream, or a verdict. */
struct chan_serve {
	struct dlist link;
	const uint8_t *at; /* next byte to send */
	uint64_t left;     /* bytes */
	uint64_t offset;   /* in the operation, of the next byte */
	uint64_t rkey;     /* of the region it reads from */
	uint32_t op;       /* the initiator's number */
	uint32_t error;    /* of the verdict */
	bool is_bulk;      /* a long range */
	uint8_t kind;      /* WIRE_PLACE, WIRE_REFUSE or WIRE_WRITTEN */
};

enum drop_reason serve_read(struct chan *chan, struct chan_peer *peer,
			    const struct wire_msg_view *view);
/* An answer to be filled later, NULL: no room; and back. */
struct chan_serve *serve_take(struct chan *chan);
void serve_give(struct chan *chan, struct chan_serve *serve);
/* Owes the peer a verdict: REFUSE, or WRITTEN when @error is 0. */
void serve_verdict(struct chan *chan, struct chan_peer *peer, struct chan_serve *serve, uint32_t op,
		   uint32_t error);
/* Data bytes of a full packet. */
uint32_t serve_payload(const struct chan_peer *peer);
int serve_output(struct chan *chan, struct chan_peer *peer, int *posted);
void serve_unexport(struct chan *chan, struct chan_peer *peer, uint64_t rkey, const void *addr,
		    uint64_t len);
void serve_clear(struct chan *chan, struct chan_peer *peer);
void serve_fini(struct chan *chan);

#endif
