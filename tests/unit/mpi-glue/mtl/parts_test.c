// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_parts: how long the datagrams of a message are, what is in each, and where a message stops
 * when PM has no room.
 */
#include "mpi-glue/mtl/mtl_pm_parts.h"

#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define NODE 3
#define FIRST sizeof(struct envelope_first)
#define MORE sizeof(struct envelope_control)

static struct fake_send s;
static _Alignas(64) char data[4 * FAKE_MTU];
static const struct envelope_control more = {.kind = ENVELOPE_MORE};

static struct mtl_pm_peer *begin(const char *device, size_t at, size_t length)
{
	struct mtl_pm_peer *peer;

	fake_open(device);
	peer = mtl_pm_peer_of_node(NODE);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 251);
	fake_prepare_send(&s, peer, data + at, length);
	return peer;
}

TAP_TEST(datagram_of__full_ones_outside_of_a_burst)
{
	const struct mtl_pm_peer *peer = begin("udp", 0, 0);

	is_int(mtl_pm_datagram_of(peer, FAKE_MTU), FAKE_MTU);
	mtl_pm.is_corked = true;
	ok(mtl_pm_datagram_of(peer, FAKE_MTU) < FAKE_MTU);
	fake_close();
}

TAP_TEST(datagram_of__equal_ones_in_a_burst)
{
	const struct mtl_pm_peer *peer = begin("udp", 0, 0);

	mtl_pm.is_corked = true;
	for (size_t length = FAKE_MTU; length < 40 * FAKE_MTU; length += 61) {
		size_t most = mtl_pm_datagram_of(peer, length);
		size_t n = 1, left = length - (most - FIRST), full = 1;

		for (; left > most - MORE; left -= most - MORE)
			n++;
		for (size_t rest = length - (FAKE_MTU - FIRST); rest > 0; full++)
			rest -= rest < FAKE_MTU - MORE ? rest : FAKE_MTU - MORE;
		/*
		 * No more of them than if all were full, and the last one lacks at most its 32nd
		 * part of all bytes.
		 */
		if (!okf(most <= FAKE_MTU && n + 1 == full, "%zu: %zu of %zu", length, n + 1,
			 most) ||
		    !okf((most - MORE - left) * 32 <= length + FIRST + n * MORE,
			 "%zu: the last one has %zu of %zu", length, left, most))
			break;
	}
	fake_close();
}

TAP_TEST(room_in__whole_lines_where_data_are_aligned)
{
	is_int(mtl_pm_part_room(begin("udp", 0, 0), MORE), FAKE_MTU - MORE);
	is_int(mtl_pm_room_in(mtl_pm_peer_of_node(NODE), 1000, FIRST), 1000 - FIRST);
	fake_close();
	/* There must be room for the longest pad as well. */
	is_int(mtl_pm_part_room(begin("shmem", 0, 0), MORE), FAKE_MTU - 2 * ENVELOPE_ALIGN);
	is_int(mtl_pm_room_in(mtl_pm_peer_of_node(NODE), MORE + 63 + 128, MORE), 128);
	is_int(mtl_pm_room_in(mtl_pm_peer_of_node(NODE), MORE + 63 + 127, MORE), 64);
	fake_close();
}

TAP_TEST(send_part__goes_on_where_the_last_one_ended)
{
	begin("udp", 0, 250);
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 100), 0);
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 100), 0);
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 100), 0);
	is_int(s.req.send.sent, 250);
	fake_sent_data(NODE, &more, MORE, data, 100);
	fake_sent_data(NODE, &more, MORE, data + 100, 100);
	fake_sent_data(NODE, &more, MORE, data + 200, 50);
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(send_part__an_empty_message)
{
	struct envelope head = {.source = 1};

	begin("udp", 0, 0);
	is_int(mtl_pm_send_part(&s.req.send, &head, sizeof(head), 0), 0);
	fake_sent_data(NODE, &head, sizeof(head), "", 0);
	is_int(s.req.send.sent, 0);
	fake_close();
}

TAP_TEST(send_part__nothing_is_counted_if_pm_refuses)
{
	begin("udp", 0, 250);
	fake.send_buffers = 0;
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 100), ENOBUFS);
	fake.send_error = EPIPE;
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 100), EPIPE);
	is_int(s.req.send.sent, 0);
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(send_part__data_lie_in_the_datagram_as_in_memory)
{
	for (size_t at = 0; at < ENVELOPE_ALIGN; at++) {
		const struct envelope_control *head;
		size_t start;

		begin("shmem", at, 2048);
		is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 2048), 0);
		must(fake_sent() != NULL);
		head = (const void *)fake_sent()->bytes;
		start = MORE + head->pad;
		ok(head->pad < ENVELOPE_ALIGN);
		is_int(start % ENVELOPE_ALIGN, at);
		is_int(fake_sent()->size, start + 2048);
		is_mem(fake_sent()->bytes + start, data + at, 2048);
		fake_close();
	}
}

TAP_TEST(send_part__no_pad_for_few_bytes_or_without_room)
{
	begin("shmem", 1, 2047);
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 2047), 0);
	fake_sent_data(NODE, &more, MORE, data + 1, 2047);
	fake_close();
	begin("shmem", 1, FAKE_MTU - MORE);
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, FAKE_MTU - MORE), 0);
	fake_sent_data(NODE, &more, MORE, data + 1, FAKE_MTU - MORE);
	fake_close();
}

/* A convertor that cuts no element of eight bytes. */
static int32_t pack_whole_ones(opal_convertor_t *c, struct iovec *iov, uint32_t *count,
			       size_t *bytes)
{
	*bytes = iov->iov_len / 8 * 8;
	memcpy(iov->iov_base, data + c->bConverted, *bytes);
	c->bConverted += *bytes;
	return c->bConverted == c->local_size;
}

TAP_TEST(send_part__packed_data_end_where_an_element_would_be_cut)
{
	struct opal_datatype_t *type = fake_vector(4, 8, 16);
	struct opal_convertor_t c;

	begin("udp", 0, 32);
	fake_pack(&c, type, 1, data);
	c.fAdvance = pack_whole_ones;
	s.req.send.data = NULL;
	s.req.send.source = &c;
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 20), 0);
	is_int(s.req.send.sent, 16);
	is_int(mtl_pm_send_part(&s.req.send, &more, MORE, 20), 0);
	is_int(s.req.send.sent, 32);
	fake_sent_data(NODE, &more, MORE, data, 16);
	fake_sent_data(NODE, &more, MORE, data + 16, 16);
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
	fake_close();
}

TAP_TEST(send_row__up_to_its_end_and_from_where_pm_stopped)
{
	begin("udp", 0, 1000);
	s.req.send.sent = 100;
	fake.send_buffers = 2;
	is_int(mtl_pm_send_row(&s.req.send, &more, 300, 900), ENOBUFS);
	is_int(s.req.send.sent, 700);
	fake.send_buffers = 9;
	is_int(mtl_pm_send_row(&s.req.send, &more, 300, 900), 0);
	is_int(s.req.send.sent, 900);
	fake_sent_data(NODE, &more, MORE, data + 100, 300);
	fake_sent_data(NODE, &more, MORE, data + 400, 300);
	fake_sent_data(NODE, &more, MORE, data + 700, 200);
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(send_whole_row__the_first_datagram_has_its_own_head)
{
	const struct envelope_first first = {.size = 1000};

	begin("udp", 0, 1000);
	is_int(mtl_pm_send_whole_row(&s.req.send, &first, 200, &more, 500), 0);
	is_int(s.req.send.sent, 1000);
	fake_sent_data(NODE, &first, FIRST, data, 200);
	fake_sent_data(NODE, &more, MORE, data + 200, 500);
	fake_sent_data(NODE, &more, MORE, data + 700, 300);
	ok(!fake_sent());
	fake_close();
}

TAP_TEST(send_row__gathers_data_that_are_not_in_one_piece)
{
	const struct layout layout = {.run = {{.block = 10, .n = 30, .stride = 16}},
				      .n_runs = 1,
				      .elements = 1,
				      .rows = 1};

	begin("udp", 0, 300);
	s.req.send.data = NULL;
	s.req.send.has_layout = true;
	layout_begin(&s.req.send.walk, &layout, data);
	ok(mtl_pm_is_row_possible(&s.req.send));
	is_int(mtl_pm_send_row(&s.req.send, &more, 165, 300), 0);
	is_int(s.req.send.sent, 300);
	must(fake_sent() != NULL);
	is_int(fake_sent()->size, MORE + 165);
	for (size_t i = 0; i < 165; i++)
		is_int(fake_sent()->bytes[MORE + i], data[i / 10 * 16 + i % 10]);
	fake_drop();
	must(fake_sent() != NULL);
	is_mem(fake_sent()->bytes + MORE, data + 16 * 16 + 5, 5);
	fake_close();
}

TAP_TEST(is_row_possible__not_to_a_peer_that_wants_data_aligned)
{
	begin("udp", 0, 1000);
	ok(mtl_pm_is_row_possible(&s.req.send));
	s.req.send.data = NULL;
	ok(!mtl_pm_is_row_possible(&s.req.send));
	fake_close();
	begin("shmem", 0, 1000);
	ok(!mtl_pm_is_row_possible(&s.req.send));
	fake_close();
}

TAP_TEST(begin_row__corks_unless_a_burst_has)
{
	const struct mtl_pm_peer *peer = begin("udp", 0, 0);

	ok(mtl_pm_begin_row(peer));
	is_int(fake.corks, 1);
	mtl_pm_end_row(true);
	is_int(fake.uncorks, 1);
	mtl_pm.is_corked = true;
	ok(!mtl_pm_begin_row(peer));
	mtl_pm_end_row(false);
	is_int(fake.corks, 1);
	is_int(fake.uncorks, 1);
	fake_close();
	/* Shared memory gathers nothing. */
	ok(!mtl_pm_begin_row(begin("shmem", 0, 0)));
	is_int(fake.corks, 0);
	fake_close();
}
