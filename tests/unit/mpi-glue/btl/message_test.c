// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_send and btl_pm_progress: active messages of one and of several datagrams, out and in;
 * what is sent again when PM has room; what no honest peer sends.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/mpi-glue/btl/btl_fake.h"

#define TAG 0x41

static struct {
	int n;
	mca_btl_base_tag_t tag;
	size_t length;
	char bytes[BTL_PM_SEND_MAX];
} got;
static int n_sent, sent_status;
static char pattern[BTL_PM_SEND_MAX];

static void take(MESSAGE_PARAMETERS)
{
	got.n++;
	got.tag = MESSAGE_TAG;
	is_int(descriptor->des_segment_count, 1);
	got.length = descriptor->des_segments->seg_len;
	memcpy(got.bytes, descriptor->des_segments->seg_addr.pval, got.length);
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		 mca_btl_base_descriptor_t *descriptor, int status)
{
	n_sent++;
	sent_status = status;
}

static void begin(void)
{
	btl_begin();
	memset(&got, 0, sizeof(got));
	n_sent = 0;
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (char)(i * 7 + i / 256);
	mca_btl_base_active_message_trigger[TAG].cbfunc = take;
}

/* Sends a message of @length bytes; the result of btl_pm_send. */
static int post(size_t length, uint32_t flags)
{
	mca_btl_base_descriptor_t *d = btl_pm_alloc(&btl_pm.super, btl_peer, MCA_BTL_NO_ORDER,
						    length,
						    flags | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

	if (!ok(d != NULL))
		return OPAL_ERROR;
	memcpy(d->des_segments->seg_addr.pval, pattern, length);
	d->des_cbfunc = sent;
	return btl_pm_send(&btl_pm.super, btl_peer, d, TAG);
}

/* All that was sent comes back, as from the peer. */
static void turn_back(void)
{
	while (fake_sent()) {
		const struct fake_sent *s = fake_sent();

		ok(s->size <= FAKE_MTU);
		btl_arrive(s->bytes, s->size, NULL, 0);
		fake_drop();
	}
}

TAP_TEST(send__each_length_arrives_as_it_was)
{
	static const size_t lengths[] = {0,
					 1,
					 100,
					 FAKE_MTU - 8,
					 FAKE_MTU - 7,
					 2 * (FAKE_MTU - 8),
					 3 * FAKE_MTU,
					 BTL_PM_SEND_MAX};

	begin();
	for (size_t i = 1; i < sizeof(lengths) / sizeof(*lengths); i++) {
		is_int(post(lengths[i], MCA_BTL_DES_SEND_ALWAYS_CALLBACK), 1);
		is_int(n_sent, (int)i);
		turn_back();
		is_int(got.n, (int)i);
		is_int(got.tag, TAG);
		is_int(got.length, lengths[i]);
		ok(!memcmp(got.bytes, pattern, lengths[i]));
	}
	is_int(btl_pm.damaged, 0);
	btl_finish();
}

/* Its caller is told later, whatever its flags say: OPAL_SUCCESS promises it. */
TAP_TEST(send__waits_for_room)
{
	begin();
	fake.send_buffers = 0;
	is_int(post(100, 0), OPAL_SUCCESS);
	is_int(post(3 * FAKE_MTU, 0), OPAL_SUCCESS);
	is_int(n_sent, 0);
	/* a part of the second one */
	fake.send_buffers = 3;
	mtl_pm_progress();
	is_int(n_sent, 1);
	is_int(sent_status, OPAL_SUCCESS);
	fake.send_buffers = 0;
	mtl_pm_progress();
	is_int(n_sent, 1);
	fake.send_buffers = 9;
	mtl_pm_progress();
	is_int(n_sent, 2);
	turn_back();
	is_int(got.n, 2);
	is_int(got.length, 3 * FAKE_MTU);
	ok(!memcmp(got.bytes, pattern, 3 * FAKE_MTU));
	btl_finish();
}

TAP_TEST(send__behind_one_that_waits)
{
	begin();
	fake.send_buffers = 0;
	is_int(post(100, 0), OPAL_SUCCESS);
	fake.send_buffers = 9;
	is_int(post(8, 0), OPAL_SUCCESS);
	ok(!fake_sent());
	mtl_pm_progress();
	is_int(fake_sent()->size, 108);
	turn_back();
	is_int(got.n, 2);
	is_int(got.length, 8);
	btl_finish();
}

/* ob1 takes them for complete, and the program may compute. */
TAP_TEST(send__is_never_held)
{
	begin();
	mtl_pm_begin_requests();
	for (int i = 0; i < 3; i++)
		is_int(post(8, 0), 1);
	is_int(fake.corks, 1);
	is_int(fake.uncorks, 1);
	while (fake_sent()) {
		ok(!fake_sent()->is_corked);
		fake_drop();
	}
	btl_finish();
}

TAP_TEST(send__to_a_dead_peer)
{
	begin();
	fake.send_buffers = 0;
	is_int(post(100, 0), OPAL_SUCCESS);
	fake_arrive_error(PEER, EPIPE);
	mtl_pm_progress();
	is_int(n_sent, 1);
	is_int(sent_status, OPAL_ERR_UNREACH);
	btl_finish();
}

TAP_TEST(alloc__longer_than_any_message)
{
	begin();
	ok(!btl_pm_alloc(&btl_pm.super, btl_peer, MCA_BTL_NO_ORDER, BTL_PM_SEND_MAX + 1, 0));
	btl_finish();
}

TAP_TEST(sendi__header_and_data_in_one)
{
	mca_btl_base_descriptor_t *d = NULL;
	struct opal_convertor_t c;
	char header[] = "header";

	begin();
	OBJ_CONSTRUCT(&c, opal_convertor_t);
	fake_pack_bytes(&c, pattern, 40);
	is_int(btl_pm_sendi(&btl_pm.super, btl_peer, &c, header, 6, 40, MCA_BTL_NO_ORDER, 0, TAG,
			    &d),
	       OPAL_SUCCESS);
	ok(!d);
	turn_back();
	is_int(got.length, 46);
	ok(!memcmp(got.bytes, header, 6) && !memcmp(got.bytes + 6, pattern, 40));
	/* no room: a descriptor, for which the caller packs */
	fake.send_buffers = 0;
	is_int(btl_pm_sendi(&btl_pm.super, btl_peer, &c, header, 6, 40, MCA_BTL_NO_ORDER, 0, TAG,
			    &d),
	       OPAL_ERR_RESOURCE_BUSY);
	ok(d && d->des_segments->seg_len == 46);
	btl_pm_free(&btl_pm.super, d);
	OBJ_DESTRUCT(&c);
	btl_finish();
}

TAP_TEST(parts__that_no_honest_peer_sends)
{
	struct active_head first = {.kind = ACTIVE_FIRST, .tag = TAG, .length = 20};
	struct active_head more = {.kind = ACTIVE_MORE};

	begin();
	/* the next part of no message */
	btl_arrive(&more, sizeof(more), pattern, 10);
	is_int(btl_pm.damaged, 1);
	/* more than was announced; then the rest of it */
	btl_arrive(&first, sizeof(first), pattern, 15);
	btl_arrive(&more, sizeof(more), pattern, 6);
	is_int(btl_pm.damaged, 2);
	btl_arrive(&more, sizeof(more), pattern + 15, 5);
	is_int(got.n, 1);
	ok(!memcmp(got.bytes, pattern, 20));
	/* another one begins before the end of one */
	btl_arrive(&first, sizeof(first), pattern + 1, 15);
	btl_arrive(&first, sizeof(first), pattern, 15);
	btl_arrive(&more, sizeof(more), pattern + 15, 5);
	is_int(got.n, 2);
	ok(!memcmp(got.bytes, pattern, 20));
	/* a tag behind Open MPI's table, and nothing at all */
	first = (struct active_head){.kind = ACTIVE_MESSAGE, .tag = 255};
	btl_arrive(&first, sizeof(first), pattern, 4);
	first.kind = 255;
	btl_arrive(&first, sizeof(first), pattern, 4);
	is_int(btl_pm.damaged, 4);
	is_int(mtl_pm.damaged, 0);
	/* one that is nobody's */
	first.kind = 0;
	btl_arrive(&first, sizeof(first), pattern, 4);
	is_int(mtl_pm.damaged, 1);
	is_int(got.n, 2);
	btl_finish();
}

TAP_TEST(arrive__ends_the_polls_of_blocking_calls)
{
	struct active_head head = {.kind = ACTIVE_MESSAGE, .tag = TAG};
	struct iovec part = {&head, sizeof(head)};
	int polls;

	begin();
	fake_arrive(PEER, &part, 1);
	mtl_pm_enter();
	polls = fake.polls;
	mtl_pm_linger(NULL);
	is_int(fake.polls, polls + 1);
	ok(mtl_pm.is_client_due);
	is_int(got.n, 0);
	mtl_pm_progress();
	is_int(got.n, 1);
	ok(!mtl_pm.is_client_due);
	btl_finish();
}

TAP_TEST(open__one_context_for_both)
{
	btl_begin();
	is_int(mtl_pm_open(false), OMPI_SUCCESS);
	is_int(fake.opens, 1);
	is_int(mtl_pm_finalize(&mtl_pm.super), OMPI_SUCCESS);
	is_int(fake.closes, 0);
	ok(mtl_pm.ctx != PM_CONTEXT_NONE);
	btl_finish();
}

/* While nothing arrives the network is asked for the others, in many polls once. */
TAP_TEST(watch__asks_for_others)
{
	opal_proc_t proc;

	begin();
	btl_peer->proc = &proc;
	btl_pm_watch(1000);
	is_int(fake.n_probes, 0);
	btl_pm_watch(999999999);
	is_int(fake.n_probes, 0);
	btl_pm_watch(1000001000);
	is_int(fake.n_probes, 1);
	btl_pm_watch(1000001001);
	is_int(fake.n_probes, 1);
	btl_peer->proc = NULL;
	btl_pm_watch(3000000000);
	is_int(fake.n_probes, 1);
	btl_finish();
}
