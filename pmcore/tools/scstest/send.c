// SPDX-License-Identifier: BSD-3-Clause
/* send - datagrams of every kind; each carries its number between these two nodes. */
#include <errno.h>
#include <string.h>

#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/scstest/stress.h"

uint64_t send_random_size(struct stress *st, uint64_t max)
{
	uint64_t bits = 64 - (uint64_t)__builtin_clzll(max | 1);
	uint64_t top = 1ull << (pattern_random(&st->random) % (bits + 1));

	return pattern_random(&st->random) % (top < max ? top + 1 : max + 1);
}

static int get_mtu(struct stress *st, uint32_t node)
{
	struct peer *peer = &st->peers[node];
	size_t mtu;
	int err;

	if (peer->mtu)
		return 1;
	err = pmGetMtu(st->session->ctx, node, &mtu);
	if (err == ENOBUFS)
		return 0;
	if (err)
		return session_failed(st->session, "pmGetMtu", node, err);
	peer->mtu = mtu;
	return 1;
}

/* Reserves and writes the head; the caller fills the rest. @body: what it will be, NULL if data. */
static int reserve(struct stress *st, uint32_t node, struct packet *head, const void *body,
		   uint64_t len, char **ret_body, pmDesc *ret_desc)
{
	void *buf;
	int err;

	err = pmGetSendBuffer(st->session->ctx, node, sizeof(*head) + len, &buf, ret_desc);
	if (err == ENOBUFS)
		return 0;
	if (err)
		return session_failed(st->session, "pmGetSendBuffer", node, err);
	head->magic = PACKET_MAGIC;
	head->number = st->peers[node].sent;
	head->check = packet_check(head, body, body ? len : 0);
	memcpy(buf, head, sizeof(*head));
	*ret_body = (char *)buf + sizeof(*head);
	return 1;
}

static int dispatch(struct stress *st, uint32_t node, uint64_t len, pmDesc desc)
{
	int err = pmSend(st->session->ctx, desc);

	if (err)
		return session_failed(st->session, "pmSend", node, err);
	st->peers[node].sent++;
	st->totals.sent++;
	st->totals.sent_bytes += sizeof(struct packet) + len;
	return 1;
}

int send_packet(struct stress *st, uint32_t node, struct packet *head, const void *body,
		uint64_t body_len)
{
	pmDesc desc;
	char *to;
	int rc = reserve(st, node, head, body, body_len, &to, &desc);

	if (rc <= 0)
		return rc;
	if (body_len)
		memcpy(to, body, body_len);
	return dispatch(st, node, body_len, desc);
}

int send_data(struct stress *st, uint32_t node)
{
	struct packet head = {.kind = PACKET_DATA, .seed = pattern_random(&st->random)};
	uint64_t max = st->settings->max_size;
	pmDesc desc;
	char *to;
	int rc = get_mtu(st, node);

	if (rc <= 0)
		return rc;
	if (max > st->peers[node].mtu - sizeof(head))
		max = st->peers[node].mtu - sizeof(head);
	head.size = send_random_size(st, max);
	rc = reserve(st, node, &head, NULL, head.size, &to, &desc);
	if (rc <= 0)
		return rc;
	pattern_fill(to, head.size, head.seed, 0);
	return dispatch(st, node, head.size, desc);
}

void send_owe(struct stress *st, uint32_t node, enum debt debt)
{
	struct peer *peer = &st->peers[node];

	if (!peer->debts)
		st->n_debts++;
	peer->debts |= debt;
}

/* The first debt of a node, in the order in which they must arrive. */
static int pay_first(struct stress *st, uint32_t node, enum debt *ret_debt)
{
	struct peer *peer = &st->peers[node];
	struct packet head = {.kind = PACKET_HELLO};

	*ret_debt = (enum debt)(peer->debts & -peer->debts);
	switch (*ret_debt) {
	case OWE_HELLO:
		return send_packet(st, node, &head, &st->hello, sizeof(st->hello));
	case OWE_WRITTEN:
		head.kind = PACKET_WRITTEN;
		head.seed = peer->write_seed;
		head.size = peer->write_size;
		return send_packet(st, node, &head, NULL, 0);
	case OWE_CHECKED:
		head.kind = PACKET_CHECKED;
		return send_packet(st, node, &head, NULL, 0);
	case OWE_END:
		head.kind = PACKET_END;
		return send_packet(st, node, &head, NULL, 0);
	case OWE_TOTALS:
		head.kind = PACKET_TOTALS;
		return send_packet(st, node, &head, &st->totals, sizeof(st->totals));
	}
	return -EINVAL;
}

int send_debts(struct stress *st)
{
	uint32_t n = st->session->nodes;
	enum debt debt;
	int rc, paid = 0;

	for (uint32_t node = 0; node < n && st->n_debts; node++) {
		while (st->peers[node].debts) {
			rc = pay_first(st, node, &debt);
			if (rc < 0)
				return rc;
			if (rc == 0)
				break;
			paid++;
			st->peers[node].debts &= ~(uint32_t)debt;
			if (!st->peers[node].debts)
				st->n_debts--;
		}
	}
	return paid;
}
