/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two contexts of one process, nodes 0 and 1, with the links losing (losing.h) and udp: numbered
 * messages, both ways.
 */
#ifndef TESTS_UNIT_DEVICE_COUPLE_H
#define TESTS_UNIT_DEVICE_COUPLE_H

#include "pmcore/device/stubs.h"
#include "tests/unit/device/losing.h"

#define KINDS 5 /* of message lengths */

/* Two contexts that know each other, nodes 0 and 1, and what went between them. */
struct couple {
	pmContext ctx[2];
	struct losing *way[2];
	uint8_t address[2][PM_ADDRESS_MAX];
	size_t address_len[2];
	uint32_t sent[2], received[2];
	int dead[2];
	bool is_added; /* they know each other by pmAddNode() alone */
};

static struct couple couple;

static inline int resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	if (node > 1 || !couple.address_len[node])
		return EHOSTUNREACH;
	*ret_addr = couple.address[node];
	*ret_len = couple.address_len[node];
	return 0;
}

/* Puts the losing link before the last of the context. */
static inline void insert(int i)
{
	struct composite *c = context_get(couple.ctx[i])->c;
	struct composite_slot *slot = &c->slots[c->n_slots - 1];
	struct pm_device_env env = {
		.self = (uint32_t)i, .why = c->why, .why_size = sizeof(c->why), .can_leave = true};

	c->slots[c->n_slots++] = *slot;
	memset(slot, 0, sizeof(*slot));
	stubs_link(&losing_ops, &slot->ops);
	losing_open(&env, &slot->link);
	slot->link->ops = &slot->ops;
	slot->device = "losing";
	strcpy(slot->name, "losing");
	slot->stats = &stats_page(c->stats)->links[c->n_slots];
	couple.way[i] = losing_of(slot->link);
}

/* Without a stream, so that the network device stands last. */
static inline bool open_one(int i, const char *config)
{
	char text[256];
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = (uint32_t)i,
				    .resolver = couple.is_added ? NULL : resolve,
				    .config = text};

	snprintf(text, sizeof(text), "%s,stream=never", config);
	couple.address_len[i] = PM_ADDRESS_MAX;
	if (!okf(!pmOpenContext(&options, &couple.ctx[i]), "%s", pmLastError()))
		return false;
	insert(i);
	return okf(!pmGetAddress(couple.ctx[i], couple.address[i], &couple.address_len[i]), "%s",
		   pmLastError());
}

static inline bool open_both(const char *config)
{
	if (!open_one(0, config) || !open_one(1, config))
		return false;
	couple.way[0]->other = couple.way[1];
	couple.way[1]->other = couple.way[0];
	return true;
}

static inline bool open_couple(const char *config)
{
	memset(&couple, 0, sizeof(couple));
	return open_both(config);
}

/* Without a resolver: each is told of the other. */
static inline bool open_couple_added(const char *config)
{
	memset(&couple, 0, sizeof(couple));
	couple.is_added = true;
	return open_both(config) &&
	       is_int(pmAddNode(couple.ctx[0], 1, couple.address[1], couple.address_len[1]), 0) &&
	       is_int(pmAddNode(couple.ctx[1], 0, couple.address[0], couple.address_len[0]), 0);
}

static inline void close_couple(void)
{
	is_int(pmCloseContext(couple.ctx[0]), 0);
	is_int(pmCloseContext(couple.ctx[1]), 0);
}

#define CONFIG "devices=self+udp,udp.rails=lo,udp.mtu=1400"

/* Lengths around the borders of one, two and three parts of udp. */
static inline uint32_t length(uint32_t number)
{
	static const uint32_t lengths[KINDS] = {5, LOSING_MTU, 1328, 1329, 2657};

	return lengths[number % KINDS];
}

static inline uint8_t byte_of(int from, uint32_t number, uint32_t at)
{
	return (uint8_t)(from * 101 + number * 31 + at * 7 + (at >> 8));
}

static inline void fill(uint8_t *buf, int from, uint32_t number)
{
	for (uint32_t i = 0; i < length(number); i++)
		buf[i] = byte_of(from, number, i);
}

static inline int send_one(int from)
{
	uint8_t buf[LOSING_MTU];
	int err;

	fill(buf, from, couple.sent[from]);
	err = pmPost(couple.ctx[from], (pmNode)!from, buf, length(couple.sent[from]));
	couple.sent[from] += !err;
	return err;
}

static inline void send_some(int from, uint32_t n)
{
	while (n-- > 0)
		is_int(send_one(from), 0);
}

/* Takes what has come at @at, and checks that it is the next. */
static inline void take(int at)
{
	uint32_t number;
	const uint8_t *bytes;
	bool is_same;
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;
	int err;

	while (!(err = pmReceive(couple.ctx[at], &buf, &len, &src, &desc))) {
		number = couple.received[at]++;
		bytes = buf;
		is_same = len == length(number);
		for (uint32_t i = 0; is_same && i < len; i++)
			is_same = bytes[i] == byte_of(!at, number, i);
		okf(is_same, "message %u at %d, %zu bytes, is another", number, at, len);
		pmReleaseReceiveBuffer(couple.ctx[at], desc);
	}
	if (err == EPIPE)
		couple.dead[at]++;
}

static inline bool is_all_there(void)
{
	return couple.received[0] == couple.sent[1] && couple.received[1] == couple.sent[0];
}

/* Both look for what comes until all that was sent has come. */
static inline bool drain(void)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;

	while (!is_all_there() && clock_monotonic_ns() < end) {
		take(0);
		take(1);
	}
	return okf(is_all_there(), "%u of %u and %u of %u came", couple.received[1], couple.sent[0],
		   couple.received[0], couple.sent[1]);
}

static inline void turn(int turns)
{
	while (turns-- > 0) {
		take(0);
		take(1);
	}
}

/* Until nothing is under way. */
static inline bool settle(void)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;
	int err = ENOBUFS;

	while (err == ENOBUFS && clock_monotonic_ns() < end) {
		turn(1);
		err = pmIsSendDone(couple.ctx[0], PM_NODE_ANY) ?: pmIsSendDone(couple.ctx[1], 0);
	}
	return is_int(err, 0);
}

static inline const char *device(int at)
{
	const char *name = "";

	pmGetDeviceName(couple.ctx[at], (pmNode)!at, &name);
	return name;
}

#endif
