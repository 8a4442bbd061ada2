// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_arrive: each kind of datagram, with its receive and without, and each that no honest peer
 * sends.
 */
#include <errno.h>
#include <string.h>

#include "mpi-glue/mtl/mtl_pm_context.h"
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define NODE 3
#define SOURCE 2
#define TAG 9

static struct fake_receive r;

static union {
	struct envelope eager;
	struct envelope_sync sync;
	struct envelope_first first;
	struct envelope_rts rts;
	struct envelope_control control;
	struct envelope_pull pull;
	_Alignas(8) char bytes[FAKE_MTU];
} d;

/* A datagram of d: its header of @head bytes, and data. */
static void arrive(size_t head, const char *data)
{
	struct iovec row = {.iov_base = &d, .iov_len = head + strlen(data)};

	memcpy(d.bytes + head, data, strlen(data));
	is_int(mtl_pm_arrive(&row, 1, NODE), 1);
}

static void begin(void)
{
	fake_open("udp");
	memset(&d, 0, sizeof(d));
}

static void fill(enum envelope_kind kind)
{
	memset(&d, 0, sizeof(d));
	d.eager = (struct envelope){
		.kind_context = envelope_pack(kind, FAKE_CONTEXT), .source = SOURCE, .tag = TAG};
}

static void eager(const char *data)
{
	fill(ENVELOPE_EAGER);
	arrive(sizeof(d.eager), data);
}

static void more(const char *data, uint64_t id)
{
	memset(&d, 0, sizeof(d));
	d.control = (struct envelope_control){.kind = ENVELOPE_MORE, .id = id};
	arrive(sizeof(d.control), data);
}

static void first(uint32_t size, const char *data)
{
	fill(ENVELOPE_FIRST);
	d.first.size = size;
	arrive(sizeof(d.first), data);
}

static void rts(uint64_t size, uint64_t head, const char *data)
{
	fill(ENVELOPE_RTS);
	d.rts.size = size;
	d.rts.id = 55;
	d.rts.head = head;
	arrive(sizeof(d.rts), data);
}

/* The message that waits for a receive; NULL: none. */
static struct mtl_pm_message *held(void)
{
	struct match_entry *e =
		match_peek(match_context(&mtl_pm.match, FAKE_CONTEXT), SOURCE, MATCH_ANY_TAG);

	return e ? mtl_pm_message_of_match(e) : NULL;
}

TAP_TEST(eager__to_its_receive)
{
	begin();
	fake_post(&r, SOURCE, TAG, 100);
	eager("hello");
	ok(fake_completed() == &r.req);
	is_str(r.data, "hello");
	is_int(r.ompi.req_status.MPI_SOURCE, SOURCE);
	is_int(r.ompi.req_status._ucount, 5);
	ok(!held());
	fake_close();
}

TAP_TEST(eager__without_a_receive)
{
	begin();
	eager("hello");
	must(held() != NULL);
	is_mem(held()->data, "hello", 5);
	is_int(held()->got, 5);
	is_int(held()->remote, 0);
	fake_close();
}

TAP_TEST(eager_sync__is_answered_at_the_match)
{
	begin();
	fake_post(&r, SOURCE, TAG, 100);
	fill(ENVELOPE_EAGER_SYNC);
	d.sync.id = 77;
	arrive(sizeof(d.sync), "hello");
	fake_sent_control(NODE, ENVELOPE_ACK, 77);
	ok(fake_completed() == &r.req);
	fill(ENVELOPE_EAGER_SYNC);
	d.sync.id = 78;
	arrive(sizeof(d.sync), "hello");
	ok(!fake_sent());
	must(held() != NULL);
	is_int(held()->remote, 78);
	fake_close();
}

TAP_TEST(first__and_more_to_a_receive)
{
	begin();
	fake_post(&r, SOURCE, TAG, 100);
	first(9, "abc");
	ok(!fake_completed());
	more("def", 0);
	ok(!fake_completed());
	more("ghi", 0);
	ok(fake_completed() == &r.req);
	is_str(r.data, "abcdefghi");
	is_int(mtl_pm.damaged, 0);
	/* No message is open any more. */
	more("jkl", 0);
	is_int(mtl_pm.damaged, 1);
	fake_close();
}

TAP_TEST(first__and_more_to_a_short_receive)
{
	begin();
	fake_post(&r, SOURCE, TAG, 4);
	first(9, "abc");
	more("def", 0);
	more("ghi", 0);
	ok(fake_completed() == &r.req);
	is_mem(r.data, "abcd\0", 5);
	is_int(r.ompi.req_status.MPI_ERROR, MPI_ERR_TRUNCATE);
	fake_close();
}

TAP_TEST(first__and_more_without_a_receive)
{
	struct mtl_pm_message *m;

	begin();
	first(9, "abc");
	more("def", 0);
	m = held();
	must(m != NULL);
	is_int(m->got, 6);
	/* It is claimed while the rest is on its way. */
	ok(match_claim(match_context(&mtl_pm.match, FAKE_CONTEXT), SOURCE, TAG) == &m->match);
	fake_prepare(&r, 100);
	mtl_pm_receive_matched(&r.req.receive, SOURCE, TAG, 9);
	m->claimed = &r.req;
	more("ghi", 0);
	ok(fake_completed() == &r.req);
	is_str(r.data, "abcdefghi");
	fake_close();
}

TAP_TEST(more__that_does_not_fit)
{
	begin();
	first(4, "abc");
	more("de", 0);
	is_int(mtl_pm.damaged, 1);
	is_int(held()->got, 3);
	/* No second message begins inside the first. */
	first(4, "abc");
	rts(1000, 4, "abc");
	is_int(mtl_pm.damaged, 3);
	more("d", 0);
	is_int(held()->got, 4);
	first(ENVELOPE_FIRST_MAX + 1, "abc");
	is_int(mtl_pm.damaged, 4);
	fake_close();
}

TAP_TEST(more__that_does_not_fit_into_a_receive)
{
	begin();
	fake_post(&r, SOURCE, TAG, 100);
	first(4, "abc");
	more("de", 0);
	is_int(mtl_pm.damaged, 1);
	is_int(r.req.receive.got, 3);
	ok(!fake_completed());
	more("d", 0);
	ok(fake_completed() == &r.req);
	fake_close();
}

TAP_TEST(more__a_row)
{
	struct envelope_control parts[3][2];
	struct iovec row[4];

	begin();
	fake_post(&r, SOURCE, TAG, 100);
	first(19, "abc");
	for (int i = 0; i < 3; i++) {
		parts[i][0] = (struct envelope_control){.kind = ENVELOPE_MORE};
		memcpy(&parts[i][1], "defghijk", 8);
		row[i] = (struct iovec){.iov_base = parts[i], .iov_len = sizeof(*parts[i]) + 8};
	}
	/* Two of them are of this message. */
	is_int(mtl_pm_arrive(row, 3, NODE), 2);
	ok(fake_completed() == &r.req);
	is_str(r.data, "abcdefghijkdefghijk");
	is_int(mtl_pm.damaged, 0);
	fake_close();
}

TAP_TEST(rts__is_asked_for_or_waits)
{
	begin();
	fake_post(&r, SOURCE, TAG, 2000);
	rts(1000, 0, "");
	must(fake_sent() != NULL);
	is_int(((const struct envelope_pull *)fake_sent()->bytes)->wanted, 1000);
	fake_sent_control(NODE, ENVELOPE_PULL, 55);
	rts(1000, 4, "abc");
	ok(!fake_sent());
	must(held() != NULL);
	ok(held()->is_rts);
	is_int(held()->remote, 55);
	is_int(held()->head, 4);
	is_int(held()->got, 3);
	fake_close();
}

TAP_TEST(rts__with_a_head_to_its_receive)
{
	begin();
	fake_post(&r, SOURCE, TAG, 2000);
	rts(1000, 600, "abc");
	fake_sent_control(NODE, ENVELOPE_PULL, 55);
	is_int(r.req.receive.got, 3);
	ok(r.req.receive.has_head_due && r.req.receive.has_rest_due);
	more("d", 0);
	ok(r.req.receive.has_head_due);
	/* A packed head ends before its announced end where an element would be cut. */
	more("e", ENVELOPE_LAST);
	ok(!r.req.receive.has_head_due && !fake_completed());
	fake_close();
}

static void control(enum envelope_kind kind, uint64_t id)
{
	memset(&d, 0, sizeof(d));
	d.control = (struct envelope_control){.kind = kind, .id = id};
	arrive(sizeof(d.control), "");
}

TAP_TEST(control__choke_and_unchoke)
{
	struct mtl_pm_peer *peer;

	begin();
	peer = mtl_pm_peer_of_node(NODE);
	ok(peer->eager_limit > 0);
	control(ENVELOPE_CHOKE, 0);
	is_int(peer->eager_limit, -1);
	is_int(peer->middle_limit, -1);
	is_int(peer->packed_limit, -1);
	control(ENVELOPE_UNCHOKE, 0);
	is_int(peer->eager_limit, FAKE_MTU - sizeof(struct envelope));
	is_int(mtl_pm.damaged, 0);
	fake_close();
}

TAP_TEST(arrive__bytes_that_are_no_datagram)
{
	static const size_t heads[] = {
		[ENVELOPE_EAGER] = sizeof(d.eager),     [ENVELOPE_EAGER_SYNC] = sizeof(d.sync),
		[ENVELOPE_FIRST] = sizeof(d.first),     [ENVELOPE_MORE] = sizeof(d.control),
		[ENVELOPE_RTS] = sizeof(d.rts),         [ENVELOPE_ACK] = sizeof(d.control),
		[ENVELOPE_PULL] = sizeof(d.pull),       [ENVELOPE_DATA] = sizeof(d.control),
		[ENVELOPE_FIN] = sizeof(d.control),     [ENVELOPE_CHOKE] = sizeof(d.control),
		[ENVELOPE_UNCHOKE] = sizeof(d.control), [ENVELOPE_READ] = sizeof(d.control),
		[ENVELOPE_COPY] = sizeof(d.control)};
	uint64_t n = 0;

	begin();
	/* Each kind, cut at each byte of its head. */
	for (uint32_t kind = 0; kind < ENVELOPE_KINDS; kind++)
		for (size_t size = 0; size < heads[kind]; size++) {
			fill(kind);
			arrive(size, "");
			is_int(mtl_pm.damaged, ++n);
		}
	fill(0);
	arrive(sizeof(d.eager), "abc");
	fill(ENVELOPE_KINDS);
	arrive(sizeof(d.eager), "abc");
	fill(255);
	arrive(sizeof(d.eager), "abc");
	is_int(mtl_pm.damaged, n + 3);
	ok(!held() && !fake_sent());
	fake_close();
}

static size_t client_got;

static void client_arrive(struct mtl_pm_peer *peer, const void *datagram, size_t length)
{
	is_int(peer->node, NODE);
	is_int(envelope_kind(datagram), ENVELOPE_OTHERS);
	client_got = length;
}

/* Of any length; without it nobody takes them. */
TAP_TEST(arrive__a_datagram_of_btl)
{
	static const struct mtl_pm_client client = {.arrive = client_arrive};

	begin();
	fill(ENVELOPE_OTHERS);
	arrive(4, "");
	is_int(mtl_pm.damaged, 1);
	mtl_pm.client = &client;
	for (size_t size = 4; size < 40; size++) {
		fill(ENVELOPE_OTHERS);
		arrive(size, "");
		is_int(client_got, size);
	}
	is_int(mtl_pm.damaged, 1);
	fill(ENVELOPE_OTHERS);
	arrive(3, "");
	fill(ENVELOPE_OTHERS - 1);
	arrive(16, "");
	is_int(mtl_pm.damaged, 3);
	mtl_pm.client = NULL;
	fake_close();
}

TAP_TEST(arrive__a_pad)
{
	begin();
	fake_post(&r, SOURCE, TAG, 100);
	fill(ENVELOPE_EAGER);
	d.eager.pad = 3;
	arrive(sizeof(d.eager), "xyzhello");
	is_str(r.data, "hello");
	fill(ENVELOPE_EAGER);
	d.eager.pad = ENVELOPE_ALIGN;
	arrive(sizeof(d.eager), "abc");
	fill(ENVELOPE_EAGER);
	d.eager.pad = 4;
	arrive(sizeof(d.eager), "abc");
	is_int(mtl_pm.damaged, 2);
	fake_close();
}
