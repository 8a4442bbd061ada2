// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/mpi-glue/mtl/announced.h"

#include <string.h>

struct fake_send announced;
struct mtl_pm_peer *announced_peer;
static struct ompi_communicator_t *comm;
char announced_data[ANNOUNCED_SIZE];

void announced_begin(void)
{
	comm = fake_open_comm("udp");
	announced_peer = mtl_pm_peer_of_node(ANNOUNCED_NODE);
	for (size_t i = 0; i < ANNOUNCED_SIZE; i++)
		announced_data[i] = (char)(i * 31 + i / 253);
	fake_prepare_send(&announced, announced_peer, announced_data, ANNOUNCED_SIZE);
}

void announced_submit(void)
{
	mtl_pm_submit(&announced.req.send);
}

void announced_finish(void)
{
	fake_close_comm(comm);
}

void announced_answer(uint64_t id, bool is_error, struct mtl_pm_peer *from)
{
	const struct envelope_control m = {.kind = ENVELOPE_FIN, .error = is_error, .id = id};

	mtl_pm_on_ack(&m, from);
}

void announced_pull(uint64_t id, uint64_t wanted)
{
	const struct envelope_pull m = {.base = {.kind = ENVELOPE_PULL, .id = id},
					.reply = ANNOUNCED_REPLY,
					.wanted = wanted};

	mtl_pm_on_pull(&m, announced_peer);
}

void announced_has_ended(int error)
{
	ok(fake_completed() == &announced.req);
	is_int(announced.ompi.req_status.MPI_ERROR, error);
	is_int(announced_peer->announced, 0);
	is_int(mtl_pm.exposed, 0);
	is_int(fake.unlocks, fake.locks);
}

size_t announced_take(enum envelope_kind kind, size_t from)
{
	for (; fake_sent() && envelope_kind(fake_sent()->bytes) == kind; fake_drop()) {
		const struct envelope_control *m = (const void *)fake_sent()->bytes;
		size_t n = fake_sent()->size - MORE;

		if (kind == ENVELOPE_DATA)
			is_int(m->id, ANNOUNCED_REPLY);
		is_mem(fake_sent()->bytes + MORE, announced_data + from, n);
		from += n;
	}
	return from;
}

struct envelope_rts announced_take_rts(void)
{
	struct envelope_rts e = {0};

	if (!ok(fake_sent() != NULL))
		return e;
	memcpy(&e, fake_sent()->bytes, sizeof(e));
	is_int(envelope_kind(&e), ENVELOPE_RTS);
	is_mem(fake_sent()->bytes + sizeof(e), announced_data, fake_sent()->size - sizeof(e));
	is_int(announced.req.send.id, e.id);
	fake_drop();
	return e;
}
