// SPDX-License-Identifier: BSD-3-Clause
/* A daemon without NICs, and its clients on the socket. */
#include "pm-ethernet/daemon/clients.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pm-ethernet/daemon/discover.h"
#include "pm-ethernet/daemon/sources.h"
#include "pm-ethernet/report.h"
#include "tests/harness/stillclock.h"
#include "tests/harness/tap.h"

#define PEERS 2000 /* whose report is longer than a socket holds */
#define MANY 40    /* requests: more than their answers find room in a socket */

TAP_TEST(ethd_clients_bound__a_part_of_few_descriptors)
{
	static const uint32_t files[] = {ETHD_FILES, 8192, 4096, 1024, 160, 16},
			      contexts[] = {ETHD_UID_CONTEXTS, ETHD_UID_CONTEXTS, 128, 32, 5, 1};
	struct ethd *d = calloc(1, sizeof(*d));

	must(d);
	for (int i = 0; i < 6; i++) {
		ethd_clients_bound(d, files[i]);
		is_int(d->uid_contexts, contexts[i]);
		is_int(d->n_files, files[i]);
	}
	free(d);
}

static struct ethd *new_daemon(void)
{
	struct ethd *d = calloc(1, sizeof(*d));
	char why[256];

	d->discover = calloc(1, sizeof(*d->discover));
	strcpy(d->options.run, "/tmp/clients-XXXXXX");
	ok(mkdtemp(d->options.run) != NULL);
	is_int(ethd_sources_open(d), 0);
	is_int(ethd_clients_open(d, why, sizeof(why)), 0);
	ethd_clients_bound(d, ETHD_FILES);
	return d;
}

static void end_daemon(struct ethd *d)
{
	char path[128];

	while (d->clients)
		ethd_client_close(d, d->clients);
	close(d->listener);
	close(d->spare);
	close(d->epoll);
	snprintf(path, sizeof(path), "%s/socket", d->options.run);
	unlink(path);
	rmdir(d->options.run);
	free(d->discover);
	free(d);
}

/* Until nothing is left to do. */
static void serve(struct ethd *d)
{
	struct epoll_event event;

	while (epoll_wait(d->epoll, &event, 1, 0) == 1) {
		if (ethd_source_of(&event) == ETHD_SOURCE_LISTENER)
			ethd_clients_accept(d);
		else
			ethd_client_ready(
				d, (struct ethd_client *)(uintptr_t)ethd_source_value(&event),
				event.events);
	}
}

static int connect_to(struct ethd *d)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", d->options.run);
	is_int(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	serve(d);
	return fd;
}

static void ask(struct ethd *d, int fd, int times)
{
	struct eth_request r = {.magic = ETH_ATTACH_MAGIC,
				.version = ETH_ATTACH_VERSION,
				.op = ETH_OP_REPORT,
				.topic = ETH_TOPIC_PEERS};

	for (int i = 0; i < times; i++)
		is_int(send(fd, &r, sizeof(r), MSG_DONTWAIT), sizeof(r));
	serve(d);
}

/* Answers that have come. */
static int read_all(int fd)
{
	struct eth_report piece;
	int n = 0;

	while (recv(fd, &piece, sizeof(piece), MSG_DONTWAIT) == sizeof(piece))
		n += !piece.error;
	return n;
}

static bool is_closed(int fd)
{
	struct pollfd on = {.fd = fd};

	return poll(&on, 1, 0) == 1 && on.revents & POLLHUP;
}

TAP_TEST(ethd_client_ready__a_report_that_nobody_reads)
{
	struct ethd *d = new_daemon();
	int fd = connect_to(d), n;

	ask(d, fd, MANY);
	n = read_all(fd);
	okf(n >= 1 && n <= 4, "%d pieces were in the socket", n);
	for (int left = MANY - n; left && n; left -= n) {
		serve(d);
		n = read_all(fd);
	}
	ok(n > 0);
	is_int(d->n_unread, 0);
	close(fd);
	serve(d);
	is_int(d->n_clients, 0);
	end_daemon(d);
}

TAP_TEST(ethd_client_ready__too_many_reports_that_nobody_reads)
{
	struct ethd *d = new_daemon();
	int fds[ETHD_UID_REPORTS + 2], idle = connect_to(d);

	for (uint32_t i = 0; i < ETHD_UID_REPORTS + 2; i++)
		fds[i] = connect_to(d);
	for (uint32_t i = 0; i < ETHD_UID_REPORTS; i++)
		ask(d, fds[i], MANY);
	is_int(d->n_unread, 0);
	stillclock_ns += ETHD_READING_NS;
	/* The first reads one, so another one has read nothing for longer. */
	ok(read_all(fds[0]) > 0);
	serve(d);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t n = ETHD_UID_REPORTS + i;

		/* A client that reads ends nobody's connection. */
		ask(d, fds[n], 1);
		is_int(read_all(fds[n]), 1);
		is_int(d->n_unread, i);
		ask(d, fds[n], MANY);
		is_int(d->n_unread, i + 1);
		ok(is_closed(fds[1 + i]));
	}
	ok(!is_closed(fds[0]) && !is_closed(idle) && !is_closed(fds[3]));
	ask(d, idle, 1);
	is_int(read_all(idle), 1);
	for (uint32_t i = 0; i < ETHD_UID_REPORTS + 2; i++)
		close(fds[i]);
	close(idle);
	end_daemon(d);
}

/* Each reads one long report. */
TAP_TEST(ethd_client_ready__too_many_reports_that_are_read)
{
	struct ethd *d = new_daemon();
	int fds[ETHD_UID_REPORTS], more = connect_to(d), last = connect_to(d);
	struct eth_report piece = {0};
	struct ethd_peer peer = {.host_name = "n1"};

	for (int i = 0; i < PEERS; i++)
		d->discover->peers.places[i] = &peer;
	for (uint32_t i = 0; i < ETHD_UID_REPORTS; i++) {
		fds[i] = connect_to(d);
		ask(d, fds[i], 1);
	}
	stillclock_ns += ETHD_READING_NS;
	for (uint32_t i = ETHD_UID_REPORTS; i--;) {
		ok(read_all(fds[i]) > 0);
		serve(d);
	}
	stillclock_ns += ETHD_READING_NS - 1;
	ask(d, more, 1);
	is_int(d->n_unread, 0);
	for (uint32_t i = 0; i < ETHD_UID_REPORTS; i++)
		ok(!is_closed(fds[i]));
	/* It is told after what it was sent before. */
	while (!piece.error && recv(more, &piece, sizeof(piece), MSG_DONTWAIT) == sizeof(piece))
		serve(d);
	is_int(piece.error, EAGAIN);
	is_int(piece.more, 0);
	okf(strstr(piece.text, "reads 8 other reports") != NULL, "%s", piece.text);
	/* The one goes that has read nothing for longest, though it asked last but one. */
	ok(read_all(fds[ETHD_UID_REPORTS - 1]) > 0);
	serve(d);
	stillclock_ns++;
	ask(d, last, 1);
	is_int(d->n_unread, 1);
	ok(is_closed(fds[ETHD_UID_REPORTS - 2]));
	ok(!is_closed(fds[0]) && !is_closed(fds[ETHD_UID_REPORTS - 1]) && !is_closed(more));
	for (uint32_t i = 0; i < ETHD_UID_REPORTS; i++)
		close(fds[i]);
	close(more);
	close(last);
	end_daemon(d);
}
