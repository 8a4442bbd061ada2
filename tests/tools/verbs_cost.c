// SPDX-License-Identifier: BSD-3-Clause
/*
 * verbs_cost - does one thing over verbs so many times, for callgrind to count. Two contexts of
 * this process talk by the fake provider of the unit tests, which delivers at once: no call ever
 * finds nothing to do.
 *
 *	verbs_cost CASE BYTES COUNT
 *
 *	message		pmPost by one, pmReceive and pmReleaseReceiveBuffer by the other, in turns
 *	write, read	pmWrite or pmRead of memory of the other, to its end. Memory is registered
 *			once: valgrind knows no userfaultfd, so here nothing is ever seen to be
 *			unmapped. Otherwise each takes a lock and a system call more.
 *	bare		a message by ibv_post_send, ibv_poll_cq and ibv_post_recv alone, in turns
 *
 * Exit status: 0, 1 something went wrong, 2 wrong arguments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/record.h"
#include "pm-verbs/hw/unmap.h"
#include "pmcore/include/pm.h"
#include "tests/unit/pm-verbs/fake_verbs.h"
#include "tests/unit/pm-verbs/links.h"

#define BYTES_MAX (1u << 20)
#define PATIENCE 100000 /* polls until the two are connected */

static pmContext contexts[2];
static char memory[2][BYTES_MAX];

/* ---- in the place of pm-verbs/hw/unmap.c ---- */

struct unmap_watch {
	bool is_open;
};

int unmap_open(char *ret_why, size_t why_len, struct unmap_watch **ret_watch)
{
	static struct unmap_watch watch = {true};

	*ret_watch = &watch;
	return 0;
}

void unmap_close(struct unmap_watch *watch)
{
}

int unmap_add(struct unmap_watch *watch, void *addr, size_t len)
{
	return 0;
}

bool unmap_is_told_all(struct unmap_watch *watch, const void *addr, size_t len)
{
	return true;
}

bool unmap_poll(struct unmap_watch *watch, void (*gone)(void *arg, uintptr_t addr, size_t len),
		void *arg)
{
	return true;
}

bool unmap_has_news(const struct unmap_watch *watch)
{
	return false;
}

/* ---- by PM ---- */

static bool open_contexts(void)
{
	char address[PM_ADDRESS_MAX];
	size_t len;

	for (pmNode i = 0; i < 2; i++) {
		struct pmOptions options = {.size = sizeof(options),
					    .job_key = 4711,
					    .self = i,
					    .nodes = 2,
					    .config = "devices=verbs"};

		if (pmOpenContext(&options, &contexts[i]))
			return false;
	}
	for (pmNode i = 0; i < 2; i++) {
		len = sizeof(address);
		if (pmGetAddress(contexts[i], address, &len) ||
		    pmAddNode(contexts[!i], i, address, len))
			return false;
	}
	return true;
}

/* Takes one datagram; its bytes, 0 = there is none. */
static size_t take(pmNode at)
{
	size_t len;
	void *buf;
	pmNode src;
	pmDesc desc;

	if (pmReceive(contexts[at], &buf, &len, &src, &desc))
		return 0;
	return pmReleaseReceiveBuffer(contexts[at], desc) ? 0 : len;
}

/* The first message connects the two, which takes some looks at both. */
static bool connect_contexts(void)
{
	if (pmPost(contexts[0], 1, memory[0], 1))
		return false;
	for (int i = 0; i < PATIENCE; i++) {
		if (take(1))
			return true;
		take(0);
	}
	return false;
}

/* One message, in as many datagrams as it needs. */
static bool message(pmNode from, size_t bytes, size_t mtu)
{
	size_t left = bytes;

	for (; left > mtu; left -= mtu)
		if (pmPost(contexts[from], !from, memory[from], mtu))
			return false;
	if (pmPost(contexts[from], !from, memory[from], left))
		return false;
	for (left = bytes; left;) {
		size_t got = take(!from);

		if (!got)
			return false;
		left -= got;
	}
	return true;
}

static bool messages(size_t bytes, long count)
{
	size_t mtu;

	if (pmGetMtu(contexts[0], 1, &mtu))
		return false;
	for (long i = 0; i < count; i++)
		if (!message(i % 2, bytes, mtu))
			return false;
	return true;
}

/* An operation to its end. */
static bool operate(bool is_write, const pmHandle *handle, size_t bytes)
{
	pmDesc desc;
	int err = is_write ? pmWrite(contexts[0], 1, handle, 0, memory[0], bytes, &desc)
			   : pmRead(contexts[0], 1, handle, 0, memory[0], bytes, &desc);

	for (int polls = 0; !err && polls < PATIENCE; polls++) {
		take(0);
		err = is_write ? pmIsWriteDone(contexts[0], desc) : pmIsReadDone(contexts[0], desc);
		if (err != ENOBUFS)
			return !err;
		err = 0;
		/* the first time, the other side tells of its memory */
		take(1);
	}
	return false;
}

static bool one_sided(bool is_write, size_t bytes, long count)
{
	pmHandle handle;
	long registered;

	if (pmMLock(contexts[1], memory[1], sizeof(memory[1]), &handle) ||
	    !operate(is_write, &handle, bytes))
		return false;
	registered = fake.calls[FAKE_REG_MR];
	while (--count > 0)
		if (!operate(is_write, &handle, bytes))
			return false;
	/* what is counted would be another thing */
	return fake.calls[FAKE_REG_MR] == registered;
}

/* ---- without PM: the queue pairs of two links that are connected, used as they are ---- */

static bool poll_one(struct node *n, struct ibv_wc *ret)
{
	return ibv_poll_cq(pmv_of(n->link)->rails[0].cq, 1, ret) == 1 && !ret->status;
}

/* The least work that a user of verbs does for a message: callgrind counts this function. */
__attribute__((noinline)) static bool bare_message(struct node *from, struct node *to,
						   struct ibv_qp *sender, struct ibv_qp *receiver,
						   struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {.sg_list = sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr again = {.num_sge = 1};
	struct ibv_send_wr *bad;
	struct ibv_recv_wr *bad_again;
	struct ibv_wc wc;
	struct pmv_slot *slot;
	struct ibv_sge at;

	if (ibv_post_send(sender, &wr, &bad) || !poll_one(to, &wc))
		return false;
	slot = (struct pmv_slot *)(uintptr_t)wc.wr_id;
	at = (struct ibv_sge){
		.addr = (uintptr_t)slot->data, .length = 4096, .lkey = slot->chunk->mr[0]->lkey};
	again.wr_id = wc.wr_id;
	again.sg_list = &at;
	return !ibv_post_recv(receiver, &again, &bad_again) && poll_one(from, &wc);
}

static bool bare(size_t bytes, long count)
{
	struct ibv_sge sge[2];
	struct ibv_qp *qp[2];

	/* receives of its own, as it posts them */
	if (!links_open(2, "verbs.shared=0") || links_send(0, 1, 1) || !links_drain())
		return false;
	links_turn(2);
	for (int i = 0; i < 2; i++) {
		struct pmv_link *link = pmv_of(nodes[i].link);

		qp[i] = nodes[i].peer[!i]->qp->qp;
		sge[i] = (struct ibv_sge){.addr = (uintptr_t)link->free->data,
					  .length = (uint32_t)bytes,
					  .lkey = link->free->chunk->mr[0]->lkey};
	}
	for (long i = 0; i < count; i++)
		if (!bare_message(&nodes[i % 2], &nodes[!(i % 2)], qp[i % 2], qp[!(i % 2)],
				  &sge[i % 2]))
			return false;
	return true;
}

static bool run(const char *what, size_t bytes, long count)
{
	if (!strcmp(what, "bare"))
		return bytes <= 4096 && bare(bytes, count);
	if (!open_contexts() || !connect_contexts())
		return false;
	if (!strcmp(what, "message"))
		return messages(bytes, count);
	return one_sided(!strcmp(what, "write"), bytes, count);
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	long count = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

	if (!bytes || bytes > BYTES_MAX || count <= 0 ||
	    (strcmp(argv[1], "message") && strcmp(argv[1], "write") && strcmp(argv[1], "read") &&
	     strcmp(argv[1], "bare"))) {
		fprintf(stderr, "usage: verbs_cost message|write|read|bare BYTES COUNT\n");
		return 2;
	}
	fake_begin(1);
	if (run(argv[1], bytes, count))
		return 0;
	fprintf(stderr, "verbs_cost: %s\n", pmLastError());
	return 1;
}
