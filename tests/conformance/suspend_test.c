// SPDX-License-Identifier: BSD-3-Clause
/*
 * Contexts that give all devices back and get others: pmHold, pmSuspend, pmRevive. Messages that
 * were not taken, memory that was exported, and its handles outlive it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/conformance/variant.h"

#define REGION 100000
#define ROUNDS 4

/* Among which a round chooses; the variant's own come last. */
static const char *const others[] = {
	"devices=self+shmem",
	"devices=self+udp,udp.rails=lo",
	"devices=self+shmem+udp,udp.rails=lo",
	"devices=self+udp,udp.rails=lo,channel.crc=1,udp.mtu=1400",
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* All members hold, until what they have sent has arrived. Nothing is taken. */
static bool hold_all(struct crew *crew)
{
	double end = seconds() + 20;
	unsigned int n_done = 0;

	for (unsigned int i = 0; i < crew->n; i++)
		is_int(pmHold(crew->ctx[i]), PM_SUCCESS);
	while (n_done < crew->n && seconds() < end) {
		n_done = 0;
		for (unsigned int i = 0; i < crew->n; i++)
			n_done += pmIsSendDone(crew->ctx[i], PM_NODE_ANY) == PM_SUCCESS;
	}
	return is_int(n_done, crew->n);
}

static bool quiesce_all(struct crew *crew)
{
	double end = seconds() + 20;
	unsigned int n_quiet = 0;

	while (n_quiet < crew->n && seconds() < end) {
		n_quiet = 0;
		for (unsigned int i = 0; i < crew->n; i++)
			n_quiet += pmQuiesce(crew->ctx[i], 0) == PM_SUCCESS;
	}
	return is_int(n_quiet, crew->n);
}

static bool suspend_all(struct crew *crew)
{
	if (!hold_all(crew) || !quiesce_all(crew))
		return false;
	for (unsigned int i = 0; i < crew->n; i++)
		if (!is_int(pmSuspend(crew->ctx[i]), PM_SUCCESS))
			return okf(false, "%s", pmLastError());
	return true;
}

/* Member i with configs[i], or all with configs[0] if there is one. */
static bool revive_all(struct crew *crew, const char *const *configs, bool is_one)
{
	crew->key++;
	for (unsigned int i = 0; i < crew->n; i++) {
		if (!is_int(pmRevive(crew->ctx[i], configs[is_one ? 0 : i], crew->key), PM_SUCCESS))
			return okf(false, "%s", pmLastError());
		crew->address_len[i] = PM_ADDRESS_MAX;
		if (!is_int(pmGetAddress(crew->ctx[i], crew->address[i], &crew->address_len[i]),
			    PM_SUCCESS))
			return false;
	}
	for (unsigned int i = 0; i < crew->n; i++)
		is_int(pmResume(crew->ctx[i]), PM_SUCCESS);
	return true;
}

static void send_some(struct crew *crew, int count, uint64_t *rng)
{
	for (int i = 0; i < count; i++) {
		unsigned int from = tap_rand(rng) % crew->n, to = tap_rand(rng) % crew->n;

		/* some are taken meanwhile, others stay unread */
		crew_send(crew, from, to, 1 + tap_rand(rng) % 700);
		if (tap_rand(rng) % 3 == 0)
			crew_receive(crew, to);
	}
}

struct memory {
	uint8_t *bytes, *copy;
	uint64_t number;
	pmHandle region, counter;
	uint64_t n_added;
};

static bool export_all(struct crew *crew, struct memory *m)
{
	for (unsigned int i = 0; i < crew->n; i++) {
		m[i] = (struct memory){.bytes = malloc(REGION), .copy = malloc(REGION)};
		crew_fill(m[i].bytes, REGION, i, 5);
		if (!is_int(pmMLock(crew->ctx[i], m[i].bytes, REGION, &m[i].region), PM_SUCCESS) ||
		    !is_int(pmMLock(crew->ctx[i], &m[i].number, 8, &m[i].counter), PM_SUCCESS))
			return false;
	}
	return true;
}

/* Each reads the memory of the next, and counts there. */
static bool reach_all(struct crew *crew, struct memory *m)
{
	const pmAtomicOp add = {.kind = PM_ATOMIC_ADD, .width = 8, .operand = 1};

	for (unsigned int i = 0; i < crew->n; i++) {
		unsigned int owner = (i + 1) % crew->n;
		pmNode node = crew_node(crew, owner);
		uint64_t before = 0;
		pmDesc desc;
		int err;

		memset(m[i].copy, 0, REGION);
		while ((err = pmRead(crew->ctx[i], node, &m[owner].region, 0, m[i].copy, REGION,
				     &desc)) == ENOBUFS)
			crew_turn(crew);
		while (!err && (err = pmIsReadDone(crew->ctx[i], desc)) == ENOBUFS) {
			crew_turn(crew);
			err = 0;
		}
		if (!is_int(err, 0) || !ok(!memcmp(m[i].copy, m[owner].bytes, REGION)))
			return false;
		while ((err = pmAtomic(crew->ctx[i], node, &m[owner].counter, 0, &add, &desc)) ==
		       ENOBUFS)
			crew_turn(crew);
		while (!err && (err = pmIsAtomicDone(crew->ctx[i], desc, &before)) == ENOBUFS) {
			crew_turn(crew);
			err = 0;
		}
		if (!is_int(err, 0) || !is_int(before, m[owner].n_added++))
			return false;
	}
	return true;
}

static void withdraw_all(struct crew *crew, struct memory *m)
{
	for (unsigned int i = 0; i < crew->n; i++) {
		is_int(pmMUnlock(crew->ctx[i], &m[i].region), PM_SUCCESS);
		is_int(pmMUnlock(crew->ctx[i], &m[i].counter), PM_SUCCESS);
		free(m[i].bytes);
		free(m[i].copy);
	}
}

/* Traffic, and other devices again and again, in the end those of the variant. */
CONFORMS(pmSuspend__other_devices)
{
	uint64_t rng = tap_seed();
	struct memory m[3];

	must(export_all(crew, m));
	for (int round = 0; round < ROUNDS; round++) {
		bool is_last = round == ROUNDS - 1;
		const char *const *configs =
			is_last ? variant->configs
				: &others[tap_rand(&rng) % (sizeof(others) / sizeof(*others))];

		send_some(crew, 150, &rng);
		must(suspend_all(crew));
		must(revive_all(crew, configs, !is_last));
		must(reach_all(crew, m));
		must(crew_drain(crew));
	}
	send_some(crew, 150, &rng);
	must(crew_drain(crew));
	withdraw_all(crew, m);
}

/* Calls in between. */
CONFORMS(pmSuspend__while_there_is_no_device)
{
	uint8_t address[PM_ADDRESS_MAX], some[8], *region = calloc(1, REGION);
	size_t len = sizeof(address), mtu;
	uint64_t rng = tap_seed(), n_unread;
	pmHandle early, late;
	const char *name;
	pmDesc desc;
	void *buf;

	must(pmMLock(crew->ctx[0], region, REGION, &early) == PM_SUCCESS);
	send_some(crew, 40, &rng);
	must(suspend_all(crew));
	n_unread = crew->sent[1][0] - crew->received[1][0];
	is_int(pmGetSendBuffer(crew->ctx[0], crew_node(crew, 1), 8, &buf, &desc), ENOBUFS);
	is_int(pmPost(crew->ctx[0], crew_node(crew, 1), some, 8), ENOBUFS);
	is_int(pmRead(crew->ctx[1], crew_node(crew, 0), &early, 0, some, 8, &desc), ENOBUFS);
	is_int(pmGetMtu(crew->ctx[0], crew_node(crew, 1), &mtu), ENOBUFS);
	is_int(pmGetDeviceName(crew->ctx[0], crew_node(crew, 1), &name), ENOBUFS);
	is_int(pmIsSendDone(crew->ctx[0], PM_NODE_ANY), PM_SUCCESS);
	is_int(pmGetAddress(crew->ctx[0], address, &len), EBUSY);
	is_int(pmAddNode(crew->ctx[0], 77, address, 8), EBUSY);
	is_int(pmHold(crew->ctx[0]), EBUSY);
	is_int(pmSuspend(crew->ctx[0]), EBUSY);
	is_int(pmResume(crew->ctx[0]), EBUSY);
	is_int(pmSaveContext(crew->ctx[0], address, sizeof(address), &len), EBUSY);
	is_int(pmRestoreContext(crew->ctx[0], address, sizeof(address)), EBUSY);
	ok(strstr(pmLastError(), "suspended: call pmRevive") != NULL);
	is_int(pmQuiesce(crew->ctx[0], 0), PM_SUCCESS);
	for (uint64_t i = 0; i < n_unread && !tap_has_failed(); i++)
		while (crew->received[1][0] < crew->sent[1][0] - n_unread + i + 1 &&
		       !tap_has_failed())
			must(crew_receive(crew, 0));
	is_int(pmWait(crew->ctx[0], 1) & ~ETIMEDOUT, 0);
	is_int(pmMUnlock(crew->ctx[0], &early), PM_SUCCESS);
	must(pmMLock(crew->ctx[0], region, REGION, &late) == PM_SUCCESS);
	is_int(pmRevive(crew->ctx[0], variant->configs[0], crew->key), EINVAL);
	is_int(pmRevive(crew->ctx[0], "devices=nothing_such", crew->key + 1), EINVAL);
	is_int(pmRevive(crew->ctx[0], "devices=udp,udp.rails=nowhere9", crew->key + 1), ENODEV);
	must(revive_all(crew, variant->configs, false));
	is_int(pmRevive(crew->ctx[0], variant->configs[0], crew->key + 1), EINVAL);
	must(crew_drain(crew));
	while (pmRead(crew->ctx[1], crew_node(crew, 0), &late, 0, some, 8, &desc) == ENOBUFS)
		crew_turn(crew);
	while (pmIsReadDone(crew->ctx[1], desc) == ENOBUFS)
		crew_turn(crew);
	is_int(pmMUnlock(crew->ctx[0], &late), PM_SUCCESS);
	free(region);
}

CONFORMS(pmSuspend__not_yet)
{
	pmDesc desc;
	void *buf;

	is_int(pmSuspend(crew->ctx[0]), EBUSY);
	must(pmGetSendBuffer(crew->ctx[0], crew_node(crew, 1), 8, &buf, &desc) == PM_SUCCESS);
	is_int(pmHold(crew->ctx[0]), PM_SUCCESS);
	is_int(pmPost(crew->ctx[0], crew_node(crew, 1), "x", 1), ENOBUFS);
	is_int(pmSuspend(crew->ctx[0]), EBUSY);
	/* what was promised goes, and a plan may be given up */
	is_int(pmDiscardSendBuffer(crew->ctx[0], desc), PM_SUCCESS);
	is_int(pmResume(crew->ctx[0]), PM_SUCCESS);
	must(crew_send_hard(crew, 0, 1, 100));
	/* the order counts: what was not taken in before is not lost now */
	must(quiesce_all(crew));
	is_int(pmSuspend(crew->ctx[1]), EBUSY);
	(void)pmWait(crew->ctx[1], 0);
	is_int(pmHold(crew->ctx[1]), PM_SUCCESS);
	is_int(pmSuspend(crew->ctx[1]), EBUSY);
	ok(strstr(pmLastError(), "pmHold") != NULL);
	for (unsigned int i = 0; i < 3; i++)
		is_int(pmResume(crew->ctx[i]), PM_SUCCESS);
	crew_drain(crew);
	(void)variant;
}

/* A pmQuiesce that has failed is none. */
CONFORMS(pmSuspend__not_quiet)
{
	int err = pmPost(crew->ctx[0], crew_node(crew, 1), "x", 1);

	must(err == PM_SUCCESS);
	is_int(pmHold(crew->ctx[0]), PM_SUCCESS);
	err = pmQuiesce(crew->ctx[0], 0);
	if (err == ETIMEDOUT)
		is_int(pmSuspend(crew->ctx[0]), EBUSY);
	else
		is_int(err, PM_SUCCESS);
	is_int(pmResume(crew->ctx[0]), PM_SUCCESS);
	is_int(pmSuspend(crew->ctx[0]), EBUSY);
	(void)variant;
}

/* Messages that a wait has put aside before the hold don't stop those behind them. */
CONFORMS(pmHold__with_messages_put_aside)
{
	uint8_t buf[600] = {0};
	int n = 0;

	must(crew_send_hard(crew, 0, 1, 10));
	for (int i = 0; i < 1000 && pmWait(crew->ctx[1], 10) != PM_SUCCESS; i++)
		(void)pmIsSendDone(crew->ctx[0], PM_NODE_ANY);
	while (n < 20000 && crew_send(crew, 0, 1, sizeof(buf)) == PM_SUCCESS)
		n++;
	must(suspend_all(crew));
	must(revive_all(crew, variant->configs, false));
	must(crew_drain(crew));
	is_int((long long)crew->received[0][1], n + 1);
}
