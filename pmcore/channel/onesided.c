// SPDX-License-Identifier: BSD-3-Clause
/*
 * onesided - the user's side of one-sided operations: begins them, with a flow for the peer, and
 * lets the first request leave at once. All that follows is the work of pull.c.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/peer.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/sendwin.h"

static int check_start(struct chan *chan, struct chan_peer *peer)
{
	if (peer->is_dead)
		return -EPIPE;
	if (chan->is_stopped || chan->ops_user >= CHAN_OPS_USER || !peer_flow(chan, peer))
		return -EAGAIN;
	return 0;
}

/* Without waiting for the next poll: this is latency the user sees. */
static void start_now(struct chan *chan, struct chan_peer *peer)
{
	int posted = 0;

	pull_output(chan, false);
	peer->flow->used_ns = chan->now;
	/* A peer with packets that do not leave now stays on the ready list. */
	sendwin_output(chan, peer, &posted);
}

int chan_read(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
	      void *local, uint64_t len, uint64_t now, uint32_t *ret_op)
{
	int rc;

	chan->now = now;
	rc = check_start(chan, peer);
	if (!rc)
		rc = pull_begin_read(chan, peer, rkey, roffset, local, len, ret_op);
	if (!rc && len)
		start_now(chan, peer);
	return rc;
}

int chan_write(struct chan *chan, struct chan_peer *peer, uint64_t rkey, uint64_t roffset,
	       const void *local, uint64_t len, uint64_t now, uint32_t *ret_op)
{
	int rc;

	chan->now = now;
	rc = check_start(chan, peer);
	if (!rc)
		rc = pull_begin_write(chan, peer, rkey, roffset, local, len, ret_op);
	if (!rc && len)
		start_now(chan, peer);
	return rc;
}

int chan_op_done(struct chan *chan, uint32_t op)
{
	return pull_done(chan, op);
}
