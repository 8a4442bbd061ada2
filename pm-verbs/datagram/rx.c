// SPDX-License-Identifier: BSD-3-Clause
/*
 * rx - packets are lent where the device put them, and copied to a slot when half of the rail's
 * buffers are lent. A slot holds one packet, so rx_buffers packets can always be held and buffers
 * stay posted. Slots are memory of ours that no device knows.
 */
#include "pm-verbs/datagram/rx.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pm-verbs/datagram/trouble.h"
#include "pmcore/util/stats.h"

#define POST_BATCH 16 /* buffers given back to the device together */
/* Tokens: this and a slot's number, or rail and number of a buffer. */
#define TOKEN_SLOT (1ull << 63)

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int pmvd_rx_init(struct pmvd_dev *d, uint32_t n_slots)
{
	d->n_slots = n_slots;
	d->free_slots = calloc(n_slots, sizeof(*d->free_slots));
	d->slots = map((size_t)n_slots * d->payload);
	if (!d->free_slots || !d->slots)
		return -ENOMEM;
	for (uint32_t i = n_slots; i-- > 0;)
		d->free_slots[d->n_free_slots++] = i;
	return 0;
}

void pmvd_rx_fini(struct pmvd_dev *d)
{
	if (d->slots)
		munmap(d->slots, (size_t)d->n_slots * d->payload);
	free(d->free_slots);
	for (uint32_t r = 0; r < PM_RAILS_MAX; r++) {
		struct pmvd_rx *rx = &d->rails[r].rx;

		if (rx->memory)
			munmap(rx->memory, rx->memory_bytes);
		free(rx->place);
		free(rx->here);
	}
}

int pmvd_rx_make(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct pmvd_rx *rx = &rail->rx;

	rx->memory_bytes = (size_t)rx->n * d->stride;
	rx->memory = map(rx->memory_bytes);
	rx->place = calloc(rx->n, sizeof(*rx->place));
	rx->here = calloc(rx->n, sizeof(*rx->here));
	if (!rx->memory || !rx->place || !rx->here)
		return -ENOMEM;
	pmvd_rx_stop(rail);
	return 0;
}

static uint8_t *buffer(const struct pmvd_dev *d, const struct pmvd_rx *rx, uint32_t i)
{
	return rx->memory + (size_t)i * d->stride;
}

/* ---- buffers to the device ---- */

/* Posts up to a batch of those that are here; a positive error. */
static int post_batch(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct pmvd_rx *rx = &rail->rx;
	struct ibv_recv_wr wr[POST_BATCH], *bad = NULL;
	struct ibv_sge sge[POST_BATCH];
	uint32_t n = rx->n_here < POST_BATCH ? rx->n_here : POST_BATCH, done;
	int err;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = rx->here[rx->n_here - 1 - k];

		sge[k] =
			(struct ibv_sge){.addr = (uintptr_t)buffer(d, rx, i) + PMVD_HEAD - PMVD_GRH,
					 .length = PMVD_GRH + d->payload,
					 .lkey = rx->mr->lkey};
		wr[k] = (struct ibv_recv_wr){.wr_id = pmvd_work(rail, i),
					     .next = k + 1 < n ? &wr[k + 1] : NULL,
					     .sg_list = &sge[k],
					     .num_sge = 1};
	}
	err = ibv_post_recv(rail->qp, wr, &bad);
	for (done = 0; done < n && !(err && &wr[done] == bad); done++)
		rx->place[rx->here[--rx->n_here]] = PMVD_POSTED;
	return err;
}

int pmvd_rx_start(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	int err = 0;

	while (!err && rail->rx.n_here)
		err = post_batch(d, rail);
	return err;
}

void pmvd_rx_stop(struct pmvd_rail *rail)
{
	struct pmvd_rx *rx = &rail->rx;
	struct ibv_wc wc[PMVD_RX_BURST];

	/* makes room in the queue; of a run that is over */
	while (rail->recv_cq && ibv_poll_cq(rail->recv_cq, PMVD_RX_BURST, wc) > 0)
		;
	rx->next_arrived = rx->n_arrived = 0;
	rx->n_here = 0;
	/* there may be none yet */
	for (uint32_t i = 0; rx->place && rx->here && i < rx->n; i++) {
		if (rx->place[i] == PMVD_LENT)
			continue;
		rx->place[i] = PMVD_HERE;
		rx->here[rx->n_here++] = i;
	}
}

static void give_back(struct pmvd_dev *d, struct pmvd_rail *rail, uint32_t i)
{
	struct pmvd_rx *rx = &rail->rx;
	int err;

	rx->place[i] = PMVD_HERE;
	rx->here[rx->n_here++] = i;
	if (rx->n_here < POST_BATCH || !pmvd_rail_is_running(rail))
		return;
	err = post_batch(d, rail);
	if (err)
		pmvd_rail_fail(d, rail, strerror(err));
}

/* ---- packets from the device ---- */

void pmvd_rx_look(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct pmvd_rx *rx = &rail->rx;
	int n;

	if (pmvd_rx_is_pending(rail) || !rail->qp)
		return;
	n = ibv_poll_cq(rail->recv_cq, PMVD_RX_BURST, rx->arrived);
	rx->next_arrived = 0;
	rx->n_arrived = n > 0 ? (uint32_t)n : 0;
	if (n < 0)
		pmvd_rail_fail(d, rail, "its completions cannot be read");
}

/* Enough buffers are left for the device, so that one can be lent. */
static bool can_lend(const struct pmvd_rx *rx)
{
	return rx->n_lent < rx->n / 2;
}

bool pmvd_rx_has_room(const struct pmvd_dev *d, const struct pmvd_rail *rail)
{
	return d->n_free_slots || can_lend(&rail->rx);
}

static void lend(struct pmvd_dev *d, struct pmvd_rail *rail, uint32_t i, struct pm_rx *out)
{
	rail->rx.place[i] = PMVD_LENT;
	rail->rx.n_lent++;
	out->data = buffer(d, &rail->rx, i) + PMVD_HEAD;
	out->token = (uint64_t)rail->index << 32 | i;
}

static void copy(struct pmvd_dev *d, struct pmvd_rail *rail, uint32_t i, struct pm_rx *out)
{
	uint32_t slot = d->free_slots[--d->n_free_slots];

	out->data = d->slots + (size_t)slot * d->payload;
	out->token = TOKEN_SLOT | slot;
	memcpy(out->data, buffer(d, &rail->rx, i) + PMVD_HEAD, out->len);
	d->copies++;
	give_back(d, rail, i);
}

/* The next packet that has arrived: 1 and *out, 0 (it was none), or -1: no room for it. */
static int hand_out(struct pmvd_dev *d, struct pmvd_rail *rail, struct pm_rx *out)
{
	struct pmvd_rx *rx = &rail->rx;
	const struct ibv_wc *wc = &rx->arrived[rx->next_arrived];
	uint32_t i = (uint32_t)wc->wr_id;

	if (!pmvd_rx_has_room(d, rail))
		return -1;
	rx->next_arrived++;
	if (!pmvd_is_current(rail, wc))
		return 0;
	assert(i < rx->n && rx->place[i] == PMVD_POSTED);
	if (wc->status) {
		pmvd_rail_fail(d, rail, d->v->wc_status_str(wc->status));
		give_back(d, rail, i);
		return 0;
	}
	if (wc->byte_len <= PMVD_GRH) {
		d->env.rails[rail->index].drops[DROP_TRUNCATED]++;
		give_back(d, rail, i);
		return 0;
	}
	out->rail = rail->index;
	out->len = wc->byte_len - PMVD_GRH;
	if (can_lend(rx))
		lend(d, rail, i, out);
	else
		copy(d, rail, i, out);
	return 1;
}

static int burst(struct pmvd_dev *d, struct pmvd_rail *rail, struct pm_rx *out, int n)
{
	int given = 0, got = 0;

	while (given < n && got >= 0) {
		pmvd_rx_look(d, rail);
		if (!pmvd_rx_is_pending(rail))
			break;
		got = hand_out(d, rail, &out[given]);
		given += got > 0;
	}
	return given;
}

int pmvd_rx_burst(struct pm_dev *dev, struct pm_rx *out, int n)
{
	struct pmvd_dev *d = pmvd_of(dev);
	uint32_t r = d->next_rail;
	int given = 0;

	for (uint32_t k = 0; k < d->dev.n_rails && given < n; k++) {
		given += burst(d, &d->rails[r], out + given, n - given);
		r = r + 1 < d->dev.n_rails ? r + 1 : 0;
	}
	/* who filled the burst goes last the next time */
	if (given == n)
		d->next_rail = r;
	return given;
}

void pmvd_rx_return(struct pm_dev *dev, uint64_t token)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct pmvd_rail *rail = &d->rails[token >> 32 & (PM_RAILS_MAX - 1)];
	uint32_t i = (uint32_t)token;

	if (token & TOKEN_SLOT) {
		assert(i < d->n_slots && d->n_free_slots < d->n_slots);
		d->free_slots[d->n_free_slots++] = i;
		return;
	}
	assert(i < rail->rx.n && rail->rx.place[i] == PMVD_LENT);
	rail->rx.n_lent--;
	give_back(d, rail, i);
}
