// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-udp/device.c: life, peers, sleeping, suspend and resume, what goes wrong at open. */
#include "pm-udp/device.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/pm-udp/pair.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#else
#define HAS_SANITIZER 0
#endif

static bool passes(struct pair *p, int from, uint32_t seq)
{
	struct pm_rx rx[1];
	uint32_t got = ~seq;

	if (!is_int(post(&p->side[from], 0, seq, 100), 0))
		return false;
	p->side[from].dev->ops->tx_kick(p->side[from].dev);
	if (!is_int(burst(&p->side[!from], rx, 1, 1000), 1))
		return false;
	check_packet(&rx[0], 100, &got);
	p->side[!from].dev->ops->rx_return(p->side[!from].dev, rx[0].token);
	return is_int(got, seq);
}

TAP_TEST(open__leaves_nothing_behind)
{
	int before = count_fds();
	struct pair p;

	for (int i = 0; i < 50; i++) {
		if (pair_open_loopback(&p, "channel.send_buffers=64"))
			passes(&p, 0, 3);
		pair_close(&p);
	}
	is_int(count_fds(), before);
}

TAP_TEST(open__each_descriptor_refused)
{
	struct rlimit old, low;
	int before, failed = 0, first_free;
	struct pair p = {.net = {-1, {-1, -1}}};

	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	before = count_fds();
	first_free = fcntl(0, F_DUPFD, 0);
	close(first_free);
	for (int extra = 0; extra < 10; extra++) {
		int err;

		low = old;
		low.rlim_cur = (rlim_t)(first_free + extra);
		must(setrlimit(RLIMIT_NOFILE, &low) == 0);
		err = side_open(&p, 0, "udp.rails=lo");
		must(setrlimit(RLIMIT_NOFILE, &old) == 0);
		if (!err)
			break;
		failed++;
		is_int(err, -EMFILE);
		ok(p.side[0].why[0]);
		is_int(count_fds(), before);
	}
	ok(failed >= 2);
	/* opened at last, though perhaps without the netlink socket */
	must(p.side[0].dev != NULL);
	is_int(p.side[0].dev->ops->rail_state(p.side[0].dev, 0), PM_RAIL_UP);
	pair_close(&p);
	is_int(count_fds(), before);
}

TAP_TEST(open__each_larger_mapping_refused)
{
	struct rlimit old, low;
	struct pair p = {.net = {-1, {-1, -1}}};
	int failed = 0, before = count_fds();
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (HAS_SANITIZER) {
		if (f)
			fclose(f);
		tap_skip("a sanitizer needs the address space itself");
		return;
	}
	must(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	must(getrlimit(RLIMIT_AS, &old) == 0);
	/* 256 packets of 16 KiB, 512 slots of it, and the landings: 14 MiB */
	for (unsigned long mib = 1; mib < 64; mib++) {
		int err;

		low = old;
		low.rlim_cur = pages * 4096 + (mib << 20);
		must(setrlimit(RLIMIT_AS, &low) == 0);
		err = side_open(&p, 0, "udp.rails=lo");
		must(setrlimit(RLIMIT_AS, &old) == 0);
		if (!err)
			break;
		failed++;
		is_int(err, -ENOMEM);
		ok(strstr(p.side[0].why, "memory"));
		is_int(count_fds(), before);
	}
	ok(failed > 5);
	pair_close(&p);
}

TAP_TEST(open__port_range)
{
	struct pair p = {.net = {-1, {-1, -1}}};

	must(side_open(&p, 0, "udp.rails=lo,udp.port=23450") == 0);
	must(side_open(&p, 1, "udp.rails=lo,udp.port=23450") == 0);
	ok(pmu_of(p.side[0].dev)->port >= 23450 && pmu_of(p.side[0].dev)->port < 23450 + 1024);
	ok(pmu_of(p.side[1].dev)->port > pmu_of(p.side[0].dev)->port);
	pair_close(&p);
	p = (struct pair){.net = {-1, {-1, -1}}};
	must(side_open(&p, 0, "udp.rails=lo,udp.port=65535") == 0);
	is_int(side_open(&p, 1, "udp.rails=lo,udp.port=65535"), -EADDRINUSE);
	ok(strstr(p.side[1].why, "from 65535 to 65535") && strstr(p.side[1].why, "udp.port"));
	pair_close(&p);
}

TAP_TEST(peer_add__damaged_address_does_no_harm)
{
	struct pair p;
	uint8_t address[128];
	struct pm_dev_peer *peer = NULL;
	uint32_t rails = 77;
	int len;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	len = p.side[1].dev->ops->address(p.side[1].dev, address, sizeof(address));
	is_int(p.side[1].dev->ops->address(p.side[1].dev, address, 5), -ENOSPC);
	for (int n = 0; n < len; n++)
		is_int(p.side[0].dev->ops->peer_add(p.side[0].dev, 9, address, (size_t)n, &peer,
						    &rails),
		       -EINVAL);
	address[4] ^= 1; /* another host: loopback does not lead there */
	is_int(p.side[0].dev->ops->peer_add(p.side[0].dev, 9, address, (size_t)len, &peer, &rails),
	       -EHOSTUNREACH);
	ok(!peer && rails == 77);
	is_int(pmu_of(p.side[0].dev)->n_peers, 1);
	passes(&p, 0, 3);
	pair_close(&p);
}

TAP_TEST(peer_del__many_in_any_order)
{
	struct pair p;
	struct pm_dev_peer *peers[500];
	uint8_t address[128];
	uint64_t seed = tap_seed(), memory;
	uint32_t rails;
	int len;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	memory = p.side[0].dev->ops->memory(p.side[0].dev);
	len = p.side[1].dev->ops->address(p.side[1].dev, address, sizeof(address));
	for (uint32_t i = 0; i < 500; i++)
		is_int(p.side[0].dev->ops->peer_add(p.side[0].dev, 100 + i, address, (size_t)len,
						    &peers[i], &rails),
		       0);
	/* an idle peer is small */
	ok(p.side[0].dev->ops->memory(p.side[0].dev) - memory < 500 * 64);
	for (int n = 500; n > 0; n--) {
		int i = (int)(tap_rand(&seed) % (unsigned int)n);

		p.side[0].dev->ops->peer_del(p.side[0].dev, peers[i]);
		peers[i] = peers[n - 1];
	}
	is_int(pmu_of(p.side[0].dev)->n_peers, 1);
	passes(&p, 0, 3);
	pair_close(&p);
}

TAP_TEST(resume__same_port_and_traffic_goes_on)
{
	struct pair p;
	uint16_t port;
	int before;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	before = count_fds();
	port = pmu_of(p.side[1].dev)->port;
	passes(&p, 0, 3);
	for (int i = 0; i < 2; i++)
		is_int(p.side[i].dev->ops->suspend(p.side[i].dev), 0);
	is_int(count_fds(), before - 6); /* of each side: receive, send, netlink */
	is_int(p.side[0].dev->ops->rail_state(p.side[0].dev, 0), PM_RAIL_DOWN);
	is_int(post(&p.side[0], 0, 3, 64), 0);
	p.side[0].dev->ops->tx_kick(p.side[0].dev);
	for (int i = 0; i < 2; i++)
		is_int(p.side[i].dev->ops->resume(p.side[i].dev), 0);
	is_int(pmu_of(p.side[1].dev)->port, port);
	is_int(p.side[0].dev->ops->rail_state(p.side[0].dev, 0), PM_RAIL_UP);
	passes(&p, 0, 6);
	passes(&p, 1, 9);
	is_int(count_fds(), before);
	pair_close(&p);
}

TAP_TEST(resume__address_has_changed)
{
	struct pair p;
	struct pm_dev_peer *old;
	uint8_t address[128];

	if (!pair_open_veth(&p, 2, 1500, ""))
		return;
	is_int(p.side[1].dev->ops->suspend(p.side[1].dev), 0);
	enter(&p.net, 1);
	is_int(sh("ip addr flush dev t0; ip addr add 10.9.0.9/24 dev t0; ip link del t1"), 0);
	is_int(p.side[1].dev->ops->resume(p.side[1].dev), 0);
	enter(&p.net, -1);
	is_int(p.side[1].dev->n_rails, 2);
	is_int(p.side[1].dev->ops->address(p.side[1].dev, address, sizeof(address)), 12 + 8);
	is_int(p.side[1].dev->ops->rail_state(p.side[1].dev, 0), PM_RAIL_UP);
	is_int(p.side[1].dev->ops->rail_state(p.side[1].dev, 1), PM_RAIL_DOWN);
	old = p.side[0].peer;
	p.side[0].dev->ops->peer_del(p.side[0].dev, old);
	is_int(side_meet(&p, 0), 0);
	ok(p.side[0].mask & 1);
	passes(&p, 0, 3);
	passes(&p, 1, 3);
	/* a rail that is gone swallows what is posted, the channel repairs */
	is_int(post(&p.side[1], 1, 3, 64), 0);
	p.side[1].dev->ops->tx_kick(p.side[1].dev);
	is_int(pmu_of(p.side[1].dev)->rails[1].lost, 1);
	pair_close(&p);
}

TAP_TEST(dump__fits_any_room)
{
	struct pair p;
	char text[2000], part[2000];
	int len;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	len = p.side[0].dev->ops->dump(p.side[0].dev, text, sizeof(text));
	is_int(len, strlen(text));
	ok(strstr(text, "lo 127.0.0.1/8 up"));
	for (size_t room = 0; room <= (size_t)len; room++) {
		memset(part, 'x', sizeof(part));
		is_int(p.side[0].dev->ops->dump(p.side[0].dev, part, room), len);
		ok(part[room] == 'x' && (!room || strlen(part) == room - 1));
	}
	pair_close(&p);
}

/* Whether this process has a socket on the port. */
static bool has_port(int port)
{
	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_in sin = {0};
		socklen_t len = sizeof(sin);

		if (!getsockname(fd, (struct sockaddr *)&sin, &len) && sin.sin_family == AF_INET &&
		    ntohs(sin.sin_port) == port)
			return true;
	}
	return false;
}

/* A port that a child keeps would hide the end of its parent. */
TAP_TEST(open__children_do_not_keep_the_port)
{
	struct pair p;

	if (pair_open_loopback(&p, "")) {
		struct side *a = &p.side[0];
		uint8_t blob[PMU_BLOB_MAX];
		int port, status = 0;
		pid_t pid;

		ok(a->dev->ops->address(a->dev, blob, sizeof(blob)) > 0);
		port = blob[2] | blob[3] << 8;
		ok(has_port(port));
		pid = fork();
		if (!pid)
			_exit(has_port(port));
		ok(pid > 0 && waitpid(pid, &status, 0) == pid);
		is_int(status, 0);
		ok(has_port(port));
	}
	pair_close(&p);
}
