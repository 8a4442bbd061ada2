// SPDX-License-Identifier: BSD-3-Clause
/* Packets that others send over a connection or to the queue pair for greetings. */
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
