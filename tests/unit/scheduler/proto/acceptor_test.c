// SPDX-License-Identifier: BSD-3-Clause
/* Strangers at the acceptor, over loopback, while somebody sets the clock. */
#include "scheduler/proto/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/files.h"
#include "scheduler/proto/frame.h"
#include "tests/harness/setclock.h"
#include "tests/harness/tap.h"

#define DAY_S 86400
#define FEW 40

static struct ev_loop *loop;
static struct acceptor *acceptor;
static int n_entered;

static void enter(int fd, uint64_t job, void *owner)
{
	(void)job;
	(void)owner;
	n_entered++;
	close(fd);
}

static void open_door(void)
{
	loop = ev_loop_new(EVFLAG_AUTO);
	n_entered = 0;
	setclock_passed_s = setclock_by_s = 0;
	must(loop);
	acceptor = acceptor_open(loop, "127.0.0.1:0", enter, NULL);
	must(acceptor);
}

static void shut(void)
{
	acceptor_close(acceptor);
	ev_loop_destroy(loop);
}

/* All that is due. */
static void turn(void)
{
	for (int i = 0; i < 4; i++)
		ev_run(loop, EVRUN_NOWAIT);
}

static int knock(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)acceptor_port(acceptor))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ok(fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)));
	ev_run(loop, EVRUN_ONCE);
	return fd;
}

static bool is_shown_out(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void has_limit_while_set(time_t by_s)
{
	char bytes[PREAMBLE_BYTES];
	int early, late;

	open_door();
	early = knock();
	setclock_passed_s += ACCEPTOR_PREAMBLE_S - 1;
	late = knock();
	setclock_by_s = by_s;
	turn();
	ok(!is_shown_out(early) && !is_shown_out(late));
	setclock_passed_s += 2;
	turn();
	okf(is_shown_out(early), "the limit of the first is over");
	okf(!is_shown_out(late), "the other one has time");
	preamble_encode(bytes, 1);
	is_int(send(late, bytes, sizeof(bytes), 0), sizeof(bytes));
	while (!n_entered && !is_shown_out(late))
		ev_run(loop, EVRUN_ONCE);
	is_int(n_entered, 1);
	close(early);
	close(late);
	shut();
}

/* More come than an acceptor may have of few descriptors: the last ones stay. */
TAP_TEST(acceptor__few_descriptors)
{
	struct rlimit before, few;
	int fds[FEW], n_out = 0;

	open_door();
	for (int i = 0; i < FEW; i++)
		fds[i] = dup(0);
	getrlimit(RLIMIT_NOFILE, &before);
	few = (struct rlimit){(rlim_t)fds[FEW - 1] + 1 + FEW, before.rlim_max};
	is_int(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < FEW; i++)
		close(fds[i]);
	for (int i = 0; i < FEW; i++)
		fds[i] = knock();
	turn();
	for (int i = 0; i < FEW; i++)
		n_out += is_shown_out(fds[i]);
	okf(n_out >= FEW - (int)few.rlim_cur / FILES_PARTS, "%d of %d were shown out", n_out, FEW);
	ok(is_shown_out(fds[0]) && !is_shown_out(fds[FEW - 1]));
	is_int(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < FEW; i++)
		close(fds[i]);
	shut();
}

TAP_TEST(acceptor__the_clock_is_set_back)
{
	has_limit_while_set(-DAY_S);
}

TAP_TEST(acceptor__the_clock_is_set_forwards)
{
	has_limit_while_set(DAY_S);
}
