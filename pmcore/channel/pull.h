/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pull - one-sided operations that this node carries out; pull.c says how.
 */
#ifndef PM_CHANNEL_PULL_H
#define PM_CHANNEL_PULL_H

#include "pmcore/channel/chan_private.h"

int pull_init(struct chan *chan);
/* As chan_read and chan_write, to a peer that has a flow; pull_output then asks for the data. */
int pull_begin_read(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
		    void *local, uint64_t len, uint32_t *ret_op);
int pull_begin_write(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
		     const void *local, uint64_t len, uint32_t *ret_op);
/* As chan_op_done. */
int pull_done(struct chan *chan, uint32_t id);
/* A control message of @peer for an operation of ours. DROP_NONE, or why it was refused. */
enum drop_reason pull_place(struct chan *chan, struct chan_peer *peer,
			    const struct wire_msg_view *view);
enum drop_reason pull_verdict(struct chan *chan, struct chan_peer *peer,
			      const struct wire_msg_view *view);
enum drop_reason pull_write(struct chan *chan, struct chan_peer *peer,
			    const struct wire_msg_view *view);
/* Asks for more as far as the budget allows; false: no buffer. */
bool pull_output(struct chan *chan, bool has_heard_all);
struct chan_op *pull_find(const struct chan *chan, uint32_t id);
void pull_peer_gone(struct chan *chan, struct chan_peer *peer);
/* Stops writing into a region that goes away. */
void pull_unexport(struct chan *chan, uint64_t rkey);
void pull_fini(struct chan *chan);

#endif
