// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/charges.c; the end of a pipe does for a socket, and time is an
 * argument.
 */
#include "pm-ethernet/daemon/charges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-ethernet/daemon/memory.h"
#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define USER 1000
#define MIB (1ull << 20)
#define BYTES (4 * MIB)
#define NS_PER_S 1000000000ull

static char why[ETH_WHY];

static struct ethd *make(void)
{
	struct ethd *d = calloc(1, sizeof(*d));

	if (!d || ethd_charges_open(d))
		abort();
	d->n_ports = 1;
	d->ports[0].switch_ifindex = 1;
	d->ports[0].context = 7;
	d->options.user_bytes = 10 * MIB;
	return d;
}

static void destroy(struct ethd *d)
{
	ethd_charges_forget(d);
	close(d->held);
	free(d);
}

/* A charge whose lease ends, of which *ret_kept was handed out and is still open. */
static struct ethd_charge *end(struct ethd *d, int *ret_kept, int port)
{
	struct ethd_charge *c = ethd_charge_begin(d, USER, BYTES);
	int ends[2];

	if (!c || pipe(ends))
		abort();
	*ret_kept = dup(ends[0]);
	ethd_charge_watch(d, c, ends[0]);
	close(ends[0]);
	close(ends[1]);
	ethd_charge_end(d, c, port);
	return c;
}

static uint64_t later(struct ethd *d, uint64_t ns)
{
	d->look_ns = 0;
	return ethd_charges_timer(d, clock_monotonic_ns() + ns);
}

TAP_TEST(ethd_charges_timer__nothing_is_due_while_leases_last)
{
	struct ethd *d = make();

	ok(ethd_charges_timer(d, 1) == UINT64_MAX);
	must(ethd_charge_begin(d, USER, BYTES));
	ok(later(d, 0) == UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	is_int((long long)ethd_charges_bytes(d, USER + 1), 0);
	destroy(d);
}

TAP_TEST(ethd_charge_end__the_bytes_stay_while_a_descriptor_is_kept)
{
	struct ethd *d = make();
	int kept;

	end(d, &kept, 0);
	is_int(d->ports[0].context, 0);
	ok(d->ports[0].busy_until_ns == UINT64_MAX);
	ok(later(d, 3600 * NS_PER_S) != UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	is_int(ethd_charges_kept(d, USER), 1);
	is_int(ethd_charges_kept(d, USER + 1), 0);
	ok(d->ports[0].busy_until_ns == UINT64_MAX);
	close(kept);
	ok(later(d, 0) == UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), 0);
	is_int(ethd_charges_kept(d, USER), 0);
	ok(d->ports[0].busy_until_ns < clock_monotonic_ns() + NS_PER_S);
	destroy(d);
}

/* As a process would pass it on to another, of whatever user. */
TAP_TEST(ethd_charge_end__a_descriptor_on_its_way_is_kept)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 1;
	struct iovec part = {&byte, 1};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	struct ethd *d = make();
	int pair[2], kept;

	end(d, &kept, -1);
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &kept, sizeof(kept));
	must(sendmsg(pair[0], &msg, 0) == 1);
	close(kept);
	later(d, NS_PER_S);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	close(pair[0]);
	close(pair[1]);
	ok(later(d, NS_PER_S) == UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), 0);
	destroy(d);
}

TAP_TEST(ethd_charge_end__descriptors_that_we_still_close_are_nobodys_fault)
{
	struct ethd *d = make();
	struct ethd_charge *c;
	int kept;

	c = end(d, &kept, 0);
	c->n_closing = 1;
	later(d, NS_PER_S);
	is_int(ethd_charges_kept(d, USER), 0);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	close(kept);
	later(d, NS_PER_S);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	c->n_closing = 0;
	ok(later(d, NS_PER_S) == UINT64_MAX);
	destroy(d);
}

/* A suspended process keeps what it sends from. */
TAP_TEST(ethd_charge_end__memory_that_is_mapped_is_kept)
{
	struct ethd *d = make();
	struct ethd_charge *c;
	char *at;
	int kept, lent;

	c = end(d, &kept, 0);
	c->memory = ethd_memory_make("charges-test", 4096);
	lent = ethd_memory_lend(c->memory);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, lent, 0);
	must(at != MAP_FAILED);
	strcpy(at, "a packet");
	close(lent);
	close(kept);
	ok(later(d, NS_PER_S) != UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	/* it has no socket, so it is no context that is kept, and its port is free */
	is_int(ethd_charges_kept(d, USER), 0);
	ok(d->ports[0].busy_until_ns != UINT64_MAX);
	ok(!strcmp(at, "a packet"));
	munmap(at, 4096);
	ok(later(d, 2 * NS_PER_S) == UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), 0);
	destroy(d);
}

TAP_TEST(ethd_charge_end__what_was_pinned_counts_until_the_kernel_has_freed_it)
{
	struct ethd *d = make();
	struct ethd_charge *c;
	int kept;

	c = end(d, &kept, -1);
	c->is_freed_late = true;
	close(kept);
	ok(later(d, 0) != UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	ok(later(d, ETHD_SETTLE_NS + NS_PER_S) == UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), 0);
	destroy(d);
}

TAP_TEST(ethd_charge_watch__a_file_that_cannot_be_watched_counts_for_good)
{
	struct ethd *d = make();
	struct ethd_charge *c = ethd_charge_begin(d, USER, BYTES);
	int fd = ethd_memory_make("charges-test", 4096);

	ethd_charge_watch(d, c, fd);
	close(fd);
	ethd_charge_end(d, c, 0);
	ok(later(d, 3600 * NS_PER_S) != UINT64_MAX);
	is_int((long long)ethd_charges_bytes(d, USER), BYTES);
	is_int(ethd_charges_kept(d, USER), 1);
	destroy(d);
}

TAP_TEST(ethd_charges_timer__looks_less_and_less_often)
{
	struct ethd *d = make();
	uint64_t now = clock_monotonic_ns(), next;
	int kept;

	end(d, &kept, -1);
	next = ethd_charges_timer(d, now);
	ok(next > now && next - now <= 100000000ull);
	for (int i = 0; i < 20; i++) {
		now = next;
		next = ethd_charges_timer(d, now);
	}
	is_int((long long)(next - now), NS_PER_S);
	/* not before it is time */
	close(kept);
	ok(ethd_charges_timer(d, now + 1) == next);
	ethd_charges_hurry(d);
	ok(ethd_charges_timer(d, now + 2) == UINT64_MAX);
	destroy(d);
}

TAP_TEST(ethd_charges_allow__all_that_is_held)
{
	struct ethd *d = make();
	int kept[2];

	is_int(ethd_charges_allow(d, USER, 11 * MIB, why, sizeof(why)), -EDQUOT);
	is_int(ethd_charges_allow(d, USER, 10 * MIB, why, sizeof(why)), 0);
	end(d, &kept[0], -1);
	end(d, &kept[1], -1);
	is_int(ethd_charges_allow(d, USER, 3 * MIB, why, sizeof(why)), -EDQUOT);
	ok(strstr(why, "user 1000 holds 8 MiB") && strstr(why, "(8 MiB of it") &&
	   strstr(why, "may hold 10 MiB"));
	is_int(ethd_charges_allow(d, USER, 2 * MIB, why, sizeof(why)), 0);
	is_int(ethd_charges_allow(d, USER + 1, 10 * MIB, why, sizeof(why)), 0);
	is_int(ethd_charges_allow(d, 0, 1ull << 40, why, sizeof(why)), 0);
	/* it looks anew before it refuses */
	close(kept[0]);
	is_int(ethd_charges_allow(d, USER, 3 * MIB, why, sizeof(why)), 0);
	close(kept[1]);
	destroy(d);
}

/* Nothing is known of what another daemon granted but what the state file says. */
TAP_TEST(ethd_charges_bytes__contexts_of_an_earlier_daemon)
{
	struct ethd *d = make();
	struct ethd_charge *c = ethd_charge_begin(d, USER, BYTES);

	d->contexts[3] = (struct ethd_context){.key = 1, .uid = USER, .memory_bytes = MIB};
	d->contexts[4] =
		(struct ethd_context){.key = 1, .uid = USER, .memory_bytes = MIB, .charge = c};
	d->contexts[5] = (struct ethd_context){.key = 1, .uid = USER + 1, .memory_bytes = MIB};
	is_int((long long)ethd_charges_bytes(d, USER), 5 * MIB);
	destroy(d);
}
