// SPDX-License-Identifier: BSD-3-Clause
/* Probes of peers; the fake ports have addresses of the loopback interface. */
#include "pm-verbs/datagram/liveness.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/pm-verbs/datagrams.h"

#define OPS (&pm_verbs_datagram_ops)

static bool open_boxes(void)
{
	fake_begin(1);
	return boxes_open(2, NULL);
}

static struct pmvd_peer *peer_of(int at)
{
	return pmvd_of(boxes[at].dev)->peers[0];
}

/* Time for a probe has come after a packet; what the device then says of its peers. */
static int look(int at, uint32_t *ret_node)
{
	int got;

	box_post(at, !at, 0, 1, 64);
	box_kick(at);
	peer_of(at)->probe_ns = 0;
	got = OPS->peer_event(boxes[at].dev, ret_node);
	return got ? got : OPS->peer_event(boxes[at].dev, ret_node);
}

/* Both have looked: probes are answered. */
static void answer_all(void)
{
	uint32_t node;

	for (int i = 0; i < 4; i++)
		is_int(look(i & 1, &node), 0);
	ok(peer_of(0)->has_answered && peer_of(1)->has_answered);
}

TAP_TEST(liveness__a_process_that_lives)
{
	uint32_t node = 77;

	must(open_boxes());
	answer_all();
	/* also if it takes nothing for long, as one that is stopped */
	for (int k = 0; k < 3000; k++)
		is_int(look(0, &node), 0);
	ok(pmvd_of(boxes[0].dev)->probes > 3000);
	is_int(node, 77);
	boxes_close();
}

TAP_TEST(liveness__a_process_that_has_gone)
{
	uint32_t node = 77;

	must(open_boxes());
	answer_all();
	box_close(&boxes[1]);
	/* one refusal may be an accident */
	is_int(look(0, &node), 0);
	is_int(look(0, &node), 1);
	is_int(node, 1);
	ok(strstr(boxes[0].why, "node 1: its process is gone (127.0.0.1 answers") != NULL);
	/* said once */
	is_int(look(0, &node), 0);
	boxes_close();
}

TAP_TEST(liveness__refusals_in_a_row_only)
{
	uint32_t node = 77;

	must(open_boxes());
	answer_all();
	for (int k = 0; k < 5; k++) {
		peer_of(0)->refusals = 1;
		is_int(look(0, &node), 0);
		is_int(look(0, &node), 0);
		is_int(peer_of(0)->refusals, 0);
	}
	boxes_close();
}

TAP_TEST(liveness__a_host_that_has_never_answered)
{
	uint32_t node = 77;

	must(open_boxes());
	/* a firewall, for all we know */
	close(pmvd_of(boxes[1].dev)->answer_fd);
	pmvd_of(boxes[1].dev)->answer_fd = -1;
	for (int k = 0; k < 10; k++)
		is_int(look(0, &node), 0);
	while (box_take(1, NULL, NULL) >= 0)
		;
	ok(box_passes(0, 1, 0));
	boxes_close();
}

TAP_TEST(liveness__words_of_strangers)
{
	struct pmvd_dev *d;
	uint32_t node, junk[6] = {2, 1, 0, 0, 0, 0};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(to);

	must(open_boxes());
	d = pmvd_of(boxes[0].dev);
	is_int(getsockname(d->probe_fd, (struct sockaddr *)&to, &len), 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (size_t size = 0; size <= sizeof(junk); size++)
		is_int(sendto(fd, junk, size, 0, (struct sockaddr *)&to, sizeof(to)), size);
	to.sin_port = htons(d->liveness_port);
	for (size_t size = 0; size <= sizeof(junk); size++)
		is_int(sendto(fd, junk, size, 0, (struct sockaddr *)&to, sizeof(to)), size);
	/* as an answer of node 1, and not from its port */
	for (int k = 0; k < 3; k++)
		is_int(OPS->peer_event(boxes[0].dev, &node), 0);
	ok(!peer_of(0)->has_answered);
	answer_all();
	close(fd);
	boxes_close();
}

/* Probes and answers without the job's key. */
TAP_TEST(liveness__answers_of_another_job)
{
	struct pmvd_dev *d[2];
	uint32_t node;

	must(open_boxes());
	for (int i = 0; i < 2; i++)
		d[i] = pmvd_of(boxes[i].dev);
	d[1]->env.job_key++;
	for (int k = 0; k < 6; k++)
		is_int(look(k & 1, &node), 0);
	ok(!peer_of(0)->has_answered && !peer_of(1)->has_answered);
	d[1]->env.job_key--;
	answer_all();
	boxes_close();
}

TAP_TEST(liveness__not_without_packets_and_not_too_often)
{
	uint32_t node;

	must(open_boxes());
	answer_all();
	while (OPS->peer_event(boxes[0].dev, &node) || peer_of(0)->is_in_doubt)
		;
	pmvd_of(boxes[0].dev)->probes = 0;
	peer_of(0)->probe_ns = 0;
	for (int k = 0; k < 100; k++)
		is_int(OPS->peer_event(boxes[0].dev, &node), 0);
	is_int((long)pmvd_of(boxes[0].dev)->probes, 0);
	for (int k = 0; k < 100; k++) {
		box_post(0, 1, 0, 1, 64);
		box_kick(0);
		is_int(OPS->peer_event(boxes[0].dev, &node), 0);
	}
	ok(pmvd_of(boxes[0].dev)->probes <= 10);
	boxes_close();
}

TAP_TEST(liveness__none_without_an_ipv4_address)
{
	uint32_t node;

	fake_begin(1);
	must(boxes_open(2, "verbs.gid=0"));
	for (int k = 0; k < 10; k++)
		is_int(look(0, &node), 0);
	is_int((long)pmvd_of(boxes[0].dev)->probes, 0);
	boxes_close();
}
