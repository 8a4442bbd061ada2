// SPDX-License-Identifier: BSD-3-Clause
/*
 * fault - the interposer's data path. Packets taken from the lower device pass a line of held ones:
 * most stay in it for no time. Held packets are bounded and taken off rx_buffers; while the line is
 * full nothing more is received. The script is parsed in fault_script.c.
 */
#include "pmcore/device/fault.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/through.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/splitmix.h"
#include "pmcore/util/stats.h"

/* Packets the interposer keeps at most, of all rails; those it copies for duplicates. */
#define HELD_MAX 1024u
#define COPIES 32u
#define BURST 32
/* Tokens of copies; a lower device does not count that far down. */
#define TOKEN_COPY (UINT64_MAX - COPIES)
/* A packet waiting to be overtaken is let go after that long: the rail may have fallen silent. */
#define OVERTAKE_NS 1000000ull

/* A packet in the line. */
struct held {
	struct pm_rx rx;
	uint64_t due;      /* monotonic ns; 0 = at once */
	uint32_t overtake; /* packets of the rail that go first */
};

struct fault_dev {
	struct through base;
	struct pm_device_env env;
	struct fault_script script;
	uint64_t random;                 /* generator state */
	uint64_t last_due[PM_RAILS_MAX]; /* a delayed packet holds up its rail until then */
	struct held *held;               /* in order of arrival */
	uint32_t n_held, room_held;
	uint8_t *copies; /* COPIES times copy_bytes */
	uint32_t copy_bytes;
	uint32_t free_copies[COPIES], n_free_copies;
	uint64_t done[FAULT_ACTIONS]; /* packets mistreated */
	uint64_t passed, spared;      /* packets seen; faults left out for lack of room */
};

static struct fault_dev *of(struct pm_dev *dev)
{
	return (struct fault_dev *)dev;
}

/* ---- dice ---- */

static bool happens(struct fault_dev *f, uint32_t rail, enum fault_action action)
{
	uint32_t ppm = f->script.rails[rail].ppm[action];

	return ppm && splitmix_next(&f->random) % 1000000 < ppm;
}

/* ---- receiving ---- */

static bool has_room(const struct fault_dev *f)
{
	return f->n_held < f->room_held;
}

static void hold(struct fault_dev *f, const struct pm_rx *rx, uint64_t due, uint32_t overtake)
{
	assert(has_room(f));
	f->held[f->n_held++] = (struct held){*rx, due, overtake};
}

static void give_back(struct fault_dev *f, uint64_t token)
{
	if (token >= TOKEN_COPY)
		f->free_copies[f->n_free_copies++] = (uint32_t)(token - TOKEN_COPY);
	else
		f->base.lower->ops->rx_return(f->base.lower, token);
}

/* A second packet with the same bytes. */
static void duplicate(struct fault_dev *f, const struct pm_rx *rx, uint64_t due)
{
	struct pm_rx twin = *rx;
	uint32_t copy;

	if (!f->n_free_copies || !has_room(f) || rx->len > f->copy_bytes) {
		f->spared++;
		return;
	}
	copy = f->free_copies[--f->n_free_copies];
	twin.data = f->copies + (size_t)copy * f->copy_bytes;
	twin.token = TOKEN_COPY + copy;
	memcpy(twin.data, rx->data, rx->len);
	hold(f, &twin, due, 0);
	f->done[FAULT_DUP]++;
}

static uint64_t due_of(struct fault_dev *f, uint32_t rail, uint64_t now)
{
	if (happens(f, rail, FAULT_DELAY)) {
		uint64_t due = now + f->script.rails[rail].delay_ns;

		if (due > f->last_due[rail])
			f->last_due[rail] = due;
		f->done[FAULT_DELAY]++;
	}
	return f->last_due[rail] > now ? f->last_due[rail] : 0;
}

/* Decides a packet's fate; what survives is put into the line. */
static void mistreat(struct fault_dev *f, const struct pm_rx *rx, uint64_t now)
{
	const struct fault_rules *rules = &f->script.rails[rx->rail];
	uint32_t overtake = 0;
	uint64_t due, latest;

	f->passed++;
	if (happens(f, rx->rail, FAULT_DROP)) {
		f->env.rails[rx->rail].drops[DROP_FAULT]++;
		f->done[FAULT_DROP]++;
		give_back(f, rx->token);
		return;
	}
	if (rx->len && happens(f, rx->rail, FAULT_CORRUPT)) {
		uint64_t bit = splitmix_next(&f->random) % (8 * (uint64_t)rx->len);

		rx->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		f->done[FAULT_CORRUPT]++;
	}
	latest = due = due_of(f, rx->rail, now);
	if (happens(f, rx->rail, FAULT_REORDER)) {
		overtake = 1 + (uint32_t)(splitmix_next(&f->random) % rules->distance);
		latest = (due > now ? due : now) + OVERTAKE_NS;
		f->done[FAULT_REORDER]++;
	}
	hold(f, rx, latest, overtake);
	if (happens(f, rx->rail, FAULT_DUP))
		duplicate(f, rx, due);
}

/*
 * A packet of the rail has gone by: those it overtook come closer. True when one of them is free
 * now.
 */
static bool overtaken(struct fault_dev *f, uint32_t rail, uint32_t n)
{
	bool is_free = false;

	for (uint32_t i = 0; i < n; i++) {
		struct held *h = &f->held[i];

		if (h->rx.rail == rail && h->overtake && !--h->overtake) {
			h->due = 0;
			is_free = true;
		}
	}
	return is_free;
}

/* Moves what is due out of the line, oldest first; the number. */
static int release(struct fault_dev *f, struct pm_rx *out, int n, uint64_t now)
{
	uint32_t i = 0;
	int given = 0;

	while (given < n && i < f->n_held) {
		struct held h = f->held[i];

		if (h.due > now) {
			i++;
			continue;
		}
		out[given++] = h.rx;
		f->n_held--;
		memmove(&f->held[i], &f->held[i + 1], (f->n_held - i) * sizeof(h));
		if (overtaken(f, h.rx.rail, i))
			i = 0;
	}
	return given;
}

static int fault_rx_burst(struct pm_dev *dev, struct pm_rx *out, int n)
{
	struct fault_dev *f = of(dev);
	struct pm_rx in[BURST];
	int want = BURST, got;
	uint64_t now;

	/* each packet taken may become two */
	if (f->n_held + 2 * BURST > f->room_held)
		want = (int)(f->room_held - f->n_held) / 2;
	got = want > 0 ? f->base.lower->ops->rx_burst(f->base.lower, in, want) : 0;
	if (!got && !f->n_held)
		return 0;
	now = clock_monotonic_ns();
	for (int i = 0; i < got; i++)
		mistreat(f, &in[i], now);
	return release(f, out, n, now);
}

static void fault_rx_return(struct pm_dev *dev, uint64_t token)
{
	give_back(of(dev), token);
}

/* ---- life ---- */

static void fault_close(struct pm_dev *dev)
{
	struct fault_dev *f = of(dev);

	for (uint32_t i = 0; i < f->n_held; i++)
		give_back(f, f->held[i].rx.token);
	free(f->held);
	free(f->copies);
	free(f);
}

static int fault_open(const struct pm_device_env *env, struct pm_dev *lower,
		      struct pm_dev **ret_dev)
{
	struct fault_script script;
	struct fault_dev *f;
	int err = fault_parse(env->conf->fault, &script, env->why, env->why_size);

	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->base.dev.ops = &pm_fault_ops;
	f->base.lower = lower;
	f->env = *env;
	f->script = script;
	f->random = script.seed ^ (uint64_t)env->self * 0xd1342543de82ef95ull;
	f->room_held = lower->rx_buffers / 4 < HELD_MAX ? lower->rx_buffers / 4 : HELD_MAX;
	if (f->room_held < 2)
		f->room_held = 2;
	f->copy_bytes = (lower->ops->mtu(lower, NULL) + 63) & ~63u;
	f->base.dev.n_rails = lower->n_rails;
	f->base.dev.bulk_rails = lower->bulk_rails;
	f->base.dev.burst = lower->burst;
	f->base.dev.tx_buffers = lower->tx_buffers;
	f->base.dev.rx_buffers = lower->rx_buffers - f->room_held;
	f->held = calloc(f->room_held + 1, sizeof(*f->held));
	f->copies = aligned_alloc(64, (size_t)COPIES * f->copy_bytes);
	for (uint32_t i = 0; i < COPIES; i++)
		f->free_copies[f->n_free_copies++] = i;
	if (!f->held || !f->copies) {
		fault_close(&f->base.dev);
		return -ENOMEM;
	}
	*ret_dev = &f->base.dev;
	return 0;
}

static int fault_arm(struct pm_dev *dev)
{
	/* no descriptor tells when a held packet is due */
	return of(dev)->n_held ? 1 : of(dev)->base.lower->ops->arm(of(dev)->base.lower);
}

static int fault_dump(struct pm_dev *dev, char *buf, size_t room)
{
	const struct fault_dev *f = of(dev);

	return snprintf(
		buf, room,
		"fault: seed %llu, %llu packets: %llu dropped, %llu doubled, %llu corrupted, "
		"%llu reordered, %llu delayed, %llu spared, %u held\n",
		(unsigned long long)f->script.seed, (unsigned long long)f->passed,
		(unsigned long long)f->done[FAULT_DROP], (unsigned long long)f->done[FAULT_DUP],
		(unsigned long long)f->done[FAULT_CORRUPT],
		(unsigned long long)f->done[FAULT_REORDER],
		(unsigned long long)f->done[FAULT_DELAY], (unsigned long long)f->spared, f->n_held);
}

/* Its own only: the layers below are asked one by one. */
static uint64_t fault_memory(struct pm_dev *dev)
{
	const struct fault_dev *f = of(dev);

	return sizeof(*f) + (f->room_held + 1) * sizeof(*f->held) +
	       (uint64_t)COPIES * f->copy_bytes;
}

const struct pm_packet_ops pm_fault_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "fault",
	.open = fault_open,
	.close = fault_close,
	.address = through_address,
	.peer_add = through_peer_add,
	.peer_del = through_peer_del,
	.mtu = through_mtu,
	.tx_alloc = through_tx_alloc,
	.tx_alloc_bulk = through_tx_alloc_bulk,
	.tx_free = through_tx_free,
	.tx_post = through_tx_post,
	.tx_kick = through_tx_kick,
	.rx_burst = fault_rx_burst,
	.rx_return = fault_rx_return,
	.peer_event = through_peer_event,
	.rail_state = through_rail_state,
	.poll_fds = through_poll_fds,
	.arm = fault_arm,
	.disarm = through_disarm,
	.suspend = through_suspend,
	.resume = through_resume,
	.dump = fault_dump,
	.memory = fault_memory,
};
