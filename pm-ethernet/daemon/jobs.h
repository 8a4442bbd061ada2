/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobs - what the direct contexts of one job on this host share: memory, the sockets that own its
 * rings, the share with the locks. One job at a time can have the queues of the NICs.
 */
#ifndef PM_ETHERNET_DAEMON_JOBS_H
#define PM_ETHERNET_DAEMON_JOBS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

/*
 * Sizes of memory and rings for this request of user @uid. -E2BIG: too much for one job, -EDQUOT:
 * too much with what the user has already; with a sentence.
 */
int ethd_layout(struct ethd *d, const struct eth_request *r, uid_t uid, uint32_t n_slots,
		uint32_t n_sockets, struct eth_granted *ret, char *why, size_t why_size);
/* Bytes that a user is charged for such a layout: packet memory, and all that comes with it. */
uint64_t ethd_layout_bytes(const struct eth_granted *layout, uint32_t n_sockets);
/*
 * 0, or -ENOMEM with a sentence: the process has not filled the memory of its grant, or we have no
 * memory for what belongs to it.
 */
int ethd_layout_check(const struct eth_granted *layout, int memory, char *why, size_t why_size);
struct ethd_job *ethd_job_find(const struct ethd *d, uint64_t key, uid_t uid);
/* A job that nothing is bound for yet. */
int ethd_job_create(struct ethd *d, const struct eth_request *r, uid_t uid, const uint8_t *rails,
		    uint32_t n_rails, struct ethd_job **ret, char *why, size_t why_size);
/* A job whose contexts a daemon before us granted. */
struct ethd_job *ethd_job_adopt(struct ethd *d, uint64_t key, uid_t uid);
/*
 * Binds the sockets of a context, and what they need. -EBUSY: call again in a while, unless
 * @is_last_try; -ESTALE: this job is void, another may do; other errors are final. With a sentence.
 */
int ethd_job_bind(struct ethd *d, struct ethd_job *job, const int *sockets, bool is_last_try,
		  char *why, size_t why_size);
/* Sockets of one more context, one per rail, not bound; its slot. On failure none is open. */
int ethd_job_join(struct ethd *d, struct ethd_job *job, int ret_sockets[ETH_RAILS],
		  uint32_t *ret_slot);
/* One context less; the last one ends the job. */
void ethd_job_leave(struct ethd *d, struct ethd_job *job);
/* Ends a job that has no context. */
void ethd_job_destroy(struct ethd *d, struct ethd_job *job);

#endif
