/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * submit - what the user's side of sending offers the other parts of the engine; submit.c says how.
 */
#ifndef PM_CHANNEL_SUBMIT_H
#define PM_CHANNEL_SUBMIT_H

#include <stdbool.h>
#include <stdint.h>

struct chan;
struct chan_flow;
struct chan_peer;
struct pm_packet;

void submit_init(struct chan *chan);
/* May a message of @len bytes be sent now? 0, or as chan_reserve. */
int submit_check(struct chan *chan, struct chan_peer *peer, uint32_t len);
/* A message packet waits behind the others. */
void submit_enqueue(struct chan_flow *flow, struct pm_packet *packet);
/* Queues a message that was not sent when the engine was frozen; -ENOMEM, -EINVAL. */
int submit_restored(struct chan *chan, struct chan_peer *peer, const void *bytes, uint32_t len,
		    bool is_carried);

/*
 * Messages that are held until it is known which rails they take are part of long data, as a rule.
 */
bool submit_is_for_bulk(struct chan *chan, struct chan_peer *peer);
/* As many packets are held as are worth a system call, and some can leave. */
bool submit_is_much_held(const struct chan_peer *peer);

#endif
