// SPDX-License-Identifier: BSD-3-Clause
/*
 * self - a node's messages to itself. Owns a fixed pool of buffers that go round: lent to the
 * sender, queued, lent to the receiver. Reads and writes are plain copies done at once. Nothing can
 * be lost, so quiescing only closes the entrance, and saving writes the queue.
 */
#include "pmcore/device/self.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/region.h"
#include "pmcore/util/stats.h"

#define SELF_MTU 16384
#define SELF_BUFFERS 256

struct self_buffer {
	struct self_buffer *next; /* in the free list or the queue */
	uint32_t index;
	uint32_t len; /* of the message, bytes */
	bool is_carried;
	uint8_t *data; /* SELF_MTU bytes, allocated at first use */
};

struct self_link {
	struct pm_link link;
	struct region_table *regions;
	struct stats_link *stats;
	uint32_t self;
	bool is_stopped;           /* quiesced */
	struct self_buffer *free;  /* lent to nobody */
	struct self_buffer *head;  /* oldest queued message */
	struct self_buffer **tail; /* where the next is linked */
	uint32_t allocated;        /* buffers that have memory */
	uint32_t next_op;          /* counter of one-sided operations, for their names */
	struct self_buffer buffers[SELF_BUFFERS];
};

static struct self_link *of(struct pm_link *link)
{
	return (struct self_link *)link;
}

static int self_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	struct self_link *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->regions = env->regions;
	s->stats = env->stats;
	s->self = env->self;
	s->link.is_empty = true;
	s->tail = &s->head;
	for (uint32_t i = SELF_BUFFERS; i-- > 0;) {
		s->buffers[i].index = i;
		s->buffers[i].next = s->free;
		s->free = &s->buffers[i];
	}
	*ret_link = &s->link;
	return 0;
}

static void self_close(struct pm_link *link)
{
	struct self_link *s = of(link);

	for (uint32_t i = 0; i < SELF_BUFFERS; i++)
		free(s->buffers[i].data);
	free(s);
}

static int self_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			 struct pm_link_peer **ret_peer)
{
	(void)addr, (void)len;
	if (node != of(link)->self)
		return -EHOSTUNREACH;
	of(link)->stats->peers = 1;
	*ret_peer = (struct pm_link_peer *)link;
	return 0;
}

static void self_peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)peer;
	of(link)->stats->peers = 0;
}

static uint32_t self_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return SELF_MTU;
}

static int self_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			 void **ret_buf, uint64_t *ret_cookie)
{
	struct self_link *s = of(link);
	struct self_buffer *b = s->free;

	(void)peer, (void)len;
	if (!b || s->is_stopped) {
		s->stats->no_buffer++;
		return -EAGAIN;
	}
	if (!b->data) {
		b->data = malloc(SELF_MTU);
		if (!b->data)
			return -EAGAIN;
		s->allocated++;
	}
	s->free = b->next;
	*ret_buf = b->data;
	*ret_cookie = b->index;
	return 0;
}

static void put_free(struct self_link *s, struct self_buffer *b)
{
	b->next = s->free;
	s->free = b;
}

static void enqueue(struct self_link *s, struct self_buffer *b, uint32_t len, bool is_carried)
{
	b->len = len;
	b->is_carried = is_carried;
	b->next = NULL;
	*s->tail = b;
	s->tail = &b->next;
	s->link.is_empty = false;
}

static int self_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie, uint32_t len)
{
	struct self_link *s = of(link);

	(void)peer;
	if (!len) {
		put_free(s, &s->buffers[cookie]);
		return 0;
	}
	enqueue(s, &s->buffers[cookie], len, false);
	s->stats->tx_messages++;
	s->stats->tx_bytes += len;
	return 0;
}

static int self_carry(struct pm_link *link, struct pm_link_peer *peer, const void *head,
		      uint32_t head_len, const void *data, uint32_t len)
{
	uint64_t cookie;
	void *to;
	int err = self_get_send(link, peer, head_len + len, &to, &cookie);

	if (err)
		return err;
	pm_carry_fill(to, head, head_len, data, len);
	enqueue(of(link), &of(link)->buffers[cookie], head_len + len, true);
	return 0;
}

static int self_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static int self_receive(struct pm_link *link, struct pm_inbound *ret)
{
	struct self_link *s = of(link);
	struct self_buffer *b = s->head;

	if (!b)
		return 0;
	s->head = b->next;
	if (!s->head) {
		s->tail = &s->head;
		s->link.is_empty = true;
	}
	ret->buf = b->data;
	ret->len = b->len;
	ret->src = s->self;
	ret->cookie = b->index;
	if (b->is_carried)
		return 2;
	s->stats->rx_messages++;
	s->stats->rx_bytes += b->len;
	return 1;
}

static void self_release(struct pm_link *link, uint64_t cookie)
{
	put_free(of(link), &of(link)->buffers[cookie]);
}

static uint32_t new_op(struct self_link *s, int result)
{
	/* the result rides in the lowest bit: done, or refused */
	s->next_op += 2;
	if (!s->next_op)
		s->next_op = 2;
	return s->next_op | (result ? 1 : 0);
}

static int self_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		     uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op)
{
	void *from;
	int err = region_find(of(link)->regions, rkey, roffset, len, &from);

	(void)peer;
	if (!err) {
		memmove(local, from, len);
		of(link)->stats->read_bytes += len;
	}
	*ret_op = new_op(of(link), err);
	return 0;
}

static int self_write(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		      uint64_t roffset, const void *local, uint64_t len, uint32_t *ret_op)
{
	void *to;
	int err = region_find_writable(of(link)->regions, rkey, roffset, len, &to);

	(void)peer;
	if (!err) {
		memmove(to, local, len);
		of(link)->stats->write_bytes += len;
	}
	*ret_op = new_op(of(link), err);
	return 0;
}

static int self_rma_done(struct pm_link *link, uint32_t op)
{
	(void)link;
	return op & 1 ? -EACCES : 0;
}

static int self_arm(struct pm_link *link, uint64_t *timeout_ns)
{
	(void)timeout_ns;
	return of(link)->head != NULL;
}

static int self_quiesce(struct pm_link *link)
{
	of(link)->is_stopped = true;
	return 0;
}

static void self_resume(struct pm_link *link)
{
	of(link)->is_stopped = false;
}

/*
 * Saved form: per message a 32-bit length and the bytes. Carried datagrams are left out: their
 * asker is not saved as long as an operation is open.
 */
static int self_save(struct pm_link *link, void *buf, size_t room)
{
	uint8_t *at = buf;
	size_t need = 0;

	for (const struct self_buffer *b = of(link)->head; b; b = b->next)
		need += b->is_carried ? 0 : sizeof(b->len) + b->len;
	if (need > room)
		return (int)need;
	for (const struct self_buffer *b = of(link)->head; b; b = b->next) {
		if (b->is_carried)
			continue;
		memcpy(at, &b->len, sizeof(b->len));
		memcpy(at + sizeof(b->len), b->data, b->len);
		at += sizeof(b->len) + b->len;
	}
	return (int)need;
}

static int self_restore(struct pm_link *link, const void *buf, size_t len,
			int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer),
			void *arg)
{
	const uint8_t *at = buf, *end = at + len;
	uint32_t count = 0, n;

	(void)resolve, (void)arg;
	for (const uint8_t *p = at; p < end; p += n, count++) {
		if ((size_t)(end - p) < sizeof(n))
			return -EINVAL;
		memcpy(&n, p, sizeof(n));
		p += sizeof(n);
		if (!n || n > SELF_MTU || n > (size_t)(end - p) || count == SELF_BUFFERS)
			return -EINVAL;
	}
	while (at < end) {
		uint64_t cookie;
		void *to;

		memcpy(&n, at, sizeof(n));
		if (self_get_send(link, NULL, n, &to, &cookie))
			return -ENOMEM;
		memcpy(to, at + sizeof(n), n);
		enqueue(of(link), &of(link)->buffers[cookie], n, false);
		at += sizeof(n) + n;
	}
	return 0;
}

static int self_dump(struct pm_link *link, char *buf, size_t room)
{
	unsigned int queued = 0;

	for (const struct self_buffer *b = of(link)->head; b; b = b->next)
		queued++;
	return snprintf(buf, room, "self: %u messages queued, %u of %u buffers in memory\n", queued,
			of(link)->allocated, SELF_BUFFERS);
}

static uint64_t self_memory(struct pm_link *link)
{
	return sizeof(struct self_link) + (uint64_t)of(link)->allocated * SELF_MTU;
}

const struct pm_link_ops pm_self_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "self",
	.open = self_open,
	.close = self_close,
	.peer_add = self_peer_add,
	.peer_del = self_peer_del,
	.mtu = self_mtu,
	.get_send = self_get_send,
	.send = self_send,
	.carry = self_carry,
	.send_done = self_send_done,
	.receive = self_receive,
	.release = self_release,
	.read = self_read,
	.write = self_write,
	.rma_done = self_rma_done,
	.arm = self_arm,
	.quiesce = self_quiesce,
	.resume = self_resume,
	.save = self_save,
	.restore = self_restore,
	.dump = self_dump,
	.memory = self_memory,
};
