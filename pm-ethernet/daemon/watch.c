// SPDX-License-Identifier: BSD-3-Clause
/* Frames leave by the sockets of discovery; what comes back stays in the kernel. */
#include "pm-ethernet/daemon/watch.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "pm-ethernet/daemon/grid.h"
#include "pm-ethernet/query.h"
#include "pmcore/util/clock.h"

#define FRAME_BYTES 60 /* the shortest on a cable */

bool ethd_pulse_judge(struct ethd_pulse *pulse, uint64_t sent_ns, uint64_t echo_ns)
{
	bool was_silent = pulse->is_silent;

	if (echo_ns >= sent_ns) {
		pulse->n_missed = 0;
		if (pulse->is_silent && ++pulse->n_echoes >= ETHD_WATCH_ECHOES)
			pulse->is_silent = false;
	} else {
		pulse->n_echoes = 0;
		if (pulse->n_missed < ETHD_WATCH_MISSES)
			pulse->n_missed++;
		if (pulse->n_missed >= ETHD_WATCH_MISSES)
			pulse->is_silent = true;
	}
	if (pulse->is_silent != was_silent)
		pulse->n_missed = pulse->n_echoes = 0;
	return pulse->is_silent != was_silent;
}

static void send_watch(struct ethd *d, uint32_t rail, int fd)
{
	uint8_t frame[FRAME_BYTES] = {0};
	struct eth_frame head = {.type = htons(d->options.type),
				 .version = ETH_VERSION,
				 .kind = ETH_WATCH,
				 .ttl = 1,
				 .rail = (uint8_t)rail,
				 .dst_host = ETH_QUERY_ANYONE,
				 .src_host = d->host};

	memset(head.dst_mac, 0xff, ETH_MAC);
	memcpy(head.src_mac, d->rails[rail].mac, ETH_MAC);
	memcpy(frame, &head, sizeof(head));
	/* One that does not leave is a missed one, which is what it tells. */
	if (send(fd, frame, sizeof(frame), MSG_DONTWAIT) < 0)
		d->grid->n_unsent++;
}

uint64_t ethd_watch_timer(struct ethd *d, uint64_t now_ns)
{
	struct ethd_grid *g = d->grid;
	int fds[ETH_RAILS];

	if (!g || !d->options.watch_ns)
		return UINT64_MAX;
	if (now_ns < g->watch_ns)
		return g->watch_ns;
	ethd_discover_fds(d, fds);
	for (uint32_t rail = 0; rail < d->n_rails; rail++) {
		if (g->sent_ns[rail])
			ethd_grid_judge(d, rail);
		g->sent_ns[rail] = d->rails[rail].is_up && fds[rail] >= 0 ? clock_monotonic_ns()
									  : 0;
		if (g->sent_ns[rail])
			send_watch(d, rail, fds[rail]);
	}
	g->watch_ns += d->options.watch_ns;
	if (g->watch_ns <= now_ns)
		g->watch_ns = now_ns + d->options.watch_ns;
	return g->watch_ns;
}
