/* SPDX-License-Identifier: BSD-3-Clause */
/* tx - lending, sending, credits. */
#ifndef PM_VERBS_DATA_TX_H
#define PM_VERBS_DATA_TX_H

#include "pm-verbs/conn/record.h"

int pmv_get_send(struct pm_link *base, struct pm_link_peer *peer, uint32_t len, void **ret_buf,
		 uint64_t *ret_cookie);
int pmv_send(struct pm_link *base, struct pm_link_peer *peer, uint64_t cookie, uint32_t len);
int pmv_carry(struct pm_link *base, struct pm_link_peer *peer, const void *head, uint32_t head_len,
	      const void *data, uint32_t len);
int pmv_send_done(struct pm_link *base, struct pm_link_peer *peer);
int pmv_send_out(struct pm_link *base, struct pm_link_peer *peer);
int pmv_probe(struct pm_link *base, struct pm_link_peer *peer);
/* Sends a control message as soon as there is a credit. False: no memory, the peer is lost. */
bool pmv_send_control(struct pmv_link *link, struct pm_link_peer *peer, uint8_t kind,
		      const struct pmv_control *control);
/* Posts what waits as far as credits go. */
void pmv_pump(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_sent(struct pmv_link *link, struct pmv_slot *slot);
/* Those with numbers below @received have arrived; the user's others are queued again. */
void pmv_settle(struct pmv_link *link, struct pm_link_peer *peer, uint64_t received);
/* Tells the peer of receives that were posted again, if it is time. */
void pmv_return_credits(struct pmv_link *link, struct pm_link_peer *peer);
/* Forgets what was posted, or all that would go out. */
void pmv_posted_drop(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_tx_drop(struct pmv_link *link, struct pm_link_peer *peer);

#endif
