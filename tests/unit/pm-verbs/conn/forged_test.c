// SPDX-License-Identifier: BSD-3-Clause
/* Packets that others send over a connection or to the queue pair for greetings. */
#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/greeting.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/data/rx.h"
#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/hw/opening.h"
#include "pm-verbs/hw/pool.h"
#include "tests/unit/pm-verbs/fake_private.h"
#include "tests/unit/pm-verbs/links.h"

/* @len bytes come to @at over its connection with @from, which has not sent them. */
static void forge(int at, int from, const void *bytes, uint32_t len)
{
	struct pmv_link *link = pmv_of(nodes[at].link);
	struct pmv_slot *slot = pmv_slot_get(link);

	memcpy(slot->data, bytes, len);
	pmv_arrived(link, nodes[at].peer[from], slot, len);
}

static void open_connected(void)
{
	fake_begin(1);
	must(links_open(2, NULL));
	must(links_send(0, 1, 8) == 0 && links_send(1, 0, 8) == 0);
	links_drain();
}

static void talk(void)
{
	for (int i = 0; i < 5; i++)
		must(links_send(0, 1, 100) == 0 && links_send(1, 0, 100) == 0);
	links_drain();
	is_int(nodes[0].dead, 0);
	is_int(nodes[1].dead, 0);
}

/* Messages and control messages of somebody without the job's key, and too short ones. */
TAP_TEST(forged__is_counted_and_costs_a_connection)
{
	static const uint8_t kinds[] = {PMV_MESSAGE, PMV_GRANT, PMV_REVOKE, PMV_CLOSE, 0};
	uint64_t n = 0;

	open_connected();
	for (size_t i = 0; i < sizeof(kinds); i++) {
		uint8_t bytes[PMV_CONTROL_MAX] = {0};
		const struct pmv_header header = {.kind = kinds[i],
						  .token = nodes[0].peer[1]->token_in + 1};

		pmv_header_put(bytes, &header);
		forge(0, 1, bytes, sizeof(bytes));
		is_int((long)nodes[0].stats.forged, (long)++n);
		/* what comes before it has ended is no other message either */
		forge(0, 1, bytes, 3);
		is_int((long)nodes[0].stats.forged, (long)++n);
		talk();
	}
	is_int((long)nodes[1].stats.forged, 0);
	is_int(nodes[0].peer[1]->epoch, 1 + (int)sizeof(kinds));
	links_close();
}

/* The token of the other direction, or of the connection before, is none. */
TAP_TEST(forged__by_a_token_of_another_connection)
{
	uint8_t bytes[PMV_HEADER + 8] = {0};
	struct pmv_header header = {.kind = PMV_MESSAGE};

	open_connected();
	header.token = nodes[0].peer[1]->token_out;
	pmv_header_put(bytes, &header);
	forge(0, 1, bytes, sizeof(bytes));
	is_int((long)nodes[0].stats.forged, 1);
	header.token = nodes[0].peer[1]->token_in;
	talk();
	pmv_header_put(bytes, &header);
	forge(0, 1, bytes, sizeof(bytes));
	is_int((long)nodes[0].stats.forged, 2);
	talk();
	links_close();
}

/* The device took a forged packet in place of a message, and has acknowledged that one. */
TAP_TEST(forged__in_place_of_a_message)
{
	open_connected();
	nodes[1].peer[0]->token_in++;
	must(links_send(0, 1, 8) == 0);
	links_turn(1000);
	is_int((long)nodes[1].stats.forged, 1);
	is_int(nodes[0].dead, 2);
	ok(strstr(nodes[0].why, "are lost, as where packets are forged: let no user of the hosts "
				"send to UDP port 4791") != NULL);
	is_int((long)nodes[1].received[0], 1);
	links_close();
}

/* Messages that the device took behind it are not handed up: one before them is lost. */
TAP_TEST(forged__and_a_real_one_behind_it)
{
	uint8_t bytes[PMV_HEADER + 8];
	struct pmv_header header = {.kind = PMV_MESSAGE};

	open_connected();
	header.token = nodes[1].peer[0]->token_in + 1;
	links_fill(bytes, sizeof(bytes), 0);
	pmv_header_put(bytes, &header);
	forge(1, 0, bytes, sizeof(bytes));
	/* the message in whose place it came is acknowledged */
	nodes[0].peer[1]->first++;
	header.token--;
	links_fill(bytes + PMV_HEADER, 8, nodes[0].sent[1]);
	pmv_header_put(bytes, &header);
	forge(1, 0, bytes, sizeof(bytes));
	must(links_send(0, 1, 8) == 0);
	links_turn(1000);
	is_int((long)nodes[1].stats.forged, 1);
	is_int((long)nodes[1].received[0], 1);
	is_int(nodes[0].dead, 2);
	ok(strstr(nodes[0].why, "are lost, as where packets are forged: ") != NULL);
	links_close();
}

/* Only packets of RoCE v2 are ordinary ones of UDP. */
TAP_TEST(forged__remedy_of_another_fabric)
{
	open_connected();
	nodes[0].peer[1]->address.rails[0].protocol = PMV_INFINIBAND;
	nodes[1].peer[0]->address.rails[0].protocol = PMV_ROCE_V1;
	nodes[1].peer[0]->token_in++;
	must(links_send(0, 1, 8) == 0);
	links_take(1);
	is_str(nodes[1].peer[0]->why,
	       "a message came that it has not sent: its device or the fabric loses or forges "
	       "some: see \"rdma statistic\"");
	links_turn(1000);
	is_int(nodes[0].dead, 2);
	ok(strstr(nodes[0].why, "are lost, as where packets are forged: its device or the fabric "
				"loses or forges some: see \"rdma statistic\"") != NULL);
	links_close();
}

static int leave(int at, int from)
{
	uint64_t next = 0;
	int err = -EAGAIN;

	for (int i = 0; i < 100 && err == -EAGAIN; i++) {
		err = pm_verbs_ops.leaving->leave(nodes[at].link, nodes[at].peer[from], &next);
		links_take(at);
	}
	if (!err)
		is_int((long)next, (long)nodes[at].peer[from]->received);
	return err;
}

/* The other device can't know of a lost message: it would go on behind that. */
TAP_TEST(forged__before_another_device_takes_over)
{
	open_connected();
	forge(1, 0, "", 1);
	is_int(leave(1, 0), -EPIPE);
	links_close();
}

/* The next connection has shown that nothing is lost. */
TAP_TEST(forged__and_compared_before_another_device_takes_over)
{
	open_connected();
	forge(1, 0, "", 1);
	/* no message of the peer is needed for that */
	links_run(3, 100);
	is_int(nodes[1].peer[0]->stage, PMV_READY);
	is_int(leave(1, 0), 0);
	links_close();
}

/* We are connected anew, and the peer, which would compare, is not. */
TAP_TEST(forged__and_another_device_takes_over_before_the_peer_compares)
{
	struct pmv_greeting greeting = {.from = 0, .to = 1, .credits = 1};
	uint8_t bytes[PMV_GREETING_BYTES];
	struct pm_link_peer *peer;

	open_connected();
	peer = nodes[1].peer[0];
	greeting.life = peer->their_life;
	greeting.heard = peer->life;
	greeting.qp = nodes[0].peer[1]->qp->qp->qp_num;
	greeting.received = peer->first;
	forge(1, 0, "", 1);
	for (int i = 0; i < 100 && peer->stage != PMV_GREETING; i++)
		links_take(1);
	greeting.epoch = peer->epoch;
	pmv_greeting_put(bytes, &greeting, 4711);
	pmv_greeting_arrived(pmv_of(nodes[1].link), bytes, sizeof(bytes));
	must(peer->stage == PMV_GREETING && peer->qp->is_connected);
	is_int(leave(1, 0), -EPIPE);
	links_close();
}

/* A link is not saved before the next connection has shown that nothing is lost. */
TAP_TEST(forged__before_a_checkpoint)
{
	open_connected();
	forge(1, 0, "", 1);
	for (int i = 0; i < 100 && nodes[1].peer[0]->stage != PMV_GREETING; i++)
		links_take(1);
	is_int(nodes[1].peer[0]->stage, PMV_GREETING);
	is_int(pm_verbs_ops.quiesce(nodes[1].link), -EAGAIN);
	links_run(3, 100);
	is_int(pm_verbs_ops.quiesce(nodes[1].link), 0);
	pm_verbs_ops.resume(nodes[1].link);
	links_close();
}

/* A connection that is not missed otherwise is made, as only the next one tells what is lost. */
TAP_TEST(forged__over_a_connection_that_ends)
{
	struct pm_link_peer *peer;

	open_connected();
	peer = nodes[1].peer[0];
	pmv_connection_yield(pmv_of(nodes[1].link), peer, 0);
	must(peer->stage == PMV_DRAINING);
	forge(1, 0, "", 1);
	links_run(2, 10);
	is_int(peer->stage, PMV_GREETING);
	talk();
	links_close();
}

/* A peer that has closed its end has sent all before that. */
TAP_TEST(forged__behind_a_close)
{
	struct pm_link_peer *peer;

	open_connected();
	peer = nodes[1].peer[0];
	peer->is_closed = true;
	pmv_connection_part(pmv_of(nodes[1].link), peer);
	must(peer->stage == PMV_DRAINING);
	forge(1, 0, "", 1);
	is_int((long)nodes[1].stats.forged, 1);
	is_int(leave(1, 0), 0);
	links_close();
}

static uint32_t q_key_of(const struct ibv_qp *qp)
{
	return ((const struct fake_qp *)qp)->q_key;
}

/* Whoever does not know the job's key does not reach the queue pair for greetings. */
TAP_TEST(forged__greetings)
{
	const struct pmv_greeting greeting = {.from = 1, .epoch = 1, .life = 1};
	uint8_t bytes[PMV_GREETING_BYTES];
	struct pmv_rail *rail;

	open_connected();
	rail = &pmv_of(nodes[0].link)->rails[0];
	is_int((long)q_key_of(rail->greeter), (long)pmv_q_key(4711, PMV_GREETINGS));
	pmv_of(nodes[1].link)->env.job_key++;
	for (int i = 0; i < PMV_GREETINGS_IN; i++) {
		pmv_greet(pmv_of(nodes[1].link), nodes[1].peer[0], 0);
		links_turn(1);
	}
	is_int((long)nodes[0].stats.forged, 0);
	is_int(rail->n_in, PMV_GREETINGS_IN);
	pmv_of(nodes[1].link)->env.job_key--;
	/* one that guessed the Q_Key */
	pmv_greeting_put(bytes, &greeting, 4712);
	pmv_greeting_arrived(pmv_of(nodes[0].link), bytes, sizeof(bytes));
	pmv_greeting_arrived(pmv_of(nodes[0].link), bytes, 5);
	is_int((long)nodes[0].stats.forged, 2);
	talk();
	links_close();
}
