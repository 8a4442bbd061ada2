// SPDX-License-Identifier: BSD-3-Clause
/* A place in ethd.ports is the number in the names of its two interfaces. */
#include "pm-ethernet/daemon/ports.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "pm-ethernet/daemon/programs.h"
#include "pm-ethernet/daemon/rails.h"
#include "pm-ethernet/daemon/rtnl.h"
#include "pm-ethernet/daemon/sockets.h"
#include "pmcore/util/clock.h"

#define GROUP 0x7065u         /* interface group of all ports */
#define BUSY_NS 1000000000ull /* how long a port rests whose queue was found bound */
#define SETTLE_NS 10000000ull /* and one whose socket was closed just now */

static void name_ends(uint32_t n, char ret_switch[ETH_NAME], char ret_user[ETH_NAME])
{
	snprintf(ret_switch, ETH_NAME, "peps%u", n);
	snprintf(ret_user, ETH_NAME, "pepu%u", n);
}

/* A packet of any rail must pass. */
static uint32_t port_mtu(const struct ethd *d)
{
	uint32_t mtu = 0;

	for (uint32_t r = 0; r < d->n_rails; r++)
		if (d->rails[r].mtu_max > mtu)
			mtu = d->rails[r].mtu_max;
	return mtu;
}

static int make(struct ethd *d, uint32_t n)
{
	struct ethd_port *port = &d->ports[n];
	char switch_end[ETH_NAME], user_end[ETH_NAME];
	int err;

	name_ends(n, switch_end, user_end);
	err = rtnl_pair_add(switch_end, user_end, GROUP, port_mtu(d));
	if (err)
		return err;
	ethd_offload_off(switch_end, ETHTOOL_SGRO);
	ethd_offload_off(user_end, ETHTOOL_SGRO);
	port->switch_ifindex = if_nametoindex(switch_end);
	port->user_ifindex = if_nametoindex(user_end);
	err = ethd_program_port(d, port->switch_ifindex, d->port_program);
	if (!err && d->door_program >= 0)
		err = ethd_program_port(d, port->user_ifindex, d->door_program);
	if (!err)
		return 0;
	rtnl_link_delete(port->switch_ifindex);
	*port = (struct ethd_port){0};
	return err;
}

/* 0 if at least one port more is there. */
static int make_batch(struct ethd *d)
{
	int made = 0, err = -ENOSPC;

	for (uint32_t n = 0; n < ETH_CONTEXTS && made < ETHD_PORTS_BATCH; n++) {
		if (d->ports[n].switch_ifindex)
			continue;
		err = make(d, n);
		if (err)
			break;
		if (n >= d->n_ports)
			d->n_ports = n + 1;
		made++;
	}
	return made ? 0 : err;
}

/* The place of a port by the name of one of its ends, -1 = another interface. */
static int place_of(const char *name, bool *ret_is_switch)
{
	char switch_end[ETH_NAME], user_end[ETH_NAME];
	unsigned int n;

	if (sscanf(name, "pep%*1[su]%u", &n) != 1 || n >= ETH_CONTEXTS)
		return -1;
	name_ends(n, switch_end, user_end);
	*ret_is_switch = !strcmp(name, switch_end);
	return *ret_is_switch || !strcmp(name, user_end) ? (int)n : -1;
}

/*
 * From the list of all: asked for a name that is not there, the kernel starts modprobe to look for
 * it.
 */
static int find_ends(struct ethd *d)
{
	struct if_nameindex *all = if_nameindex();
	bool is_switch;

	if (!all)
		return -errno;
	for (uint32_t n = 0; n < ETH_CONTEXTS; n++)
		d->ports[n].switch_ifindex = d->ports[n].user_ifindex = 0;
	for (const struct if_nameindex *one = all; one->if_index; one++) {
		int n = place_of(one->if_name, &is_switch);

		if (n >= 0 && is_switch)
			d->ports[n].switch_ifindex = one->if_index;
		else if (n >= 0)
			d->ports[n].user_ifindex = one->if_index;
	}
	if_freenameindex(all);
	return 0;
}

int ethd_ports_adopt(struct ethd *d)
{
	int err = find_ends(d);

	for (uint32_t n = 0; n < ETH_CONTEXTS && !err; n++) {
		struct ethd_port *port = &d->ports[n];

		if (!port->switch_ifindex)
			continue;
		if (port->context) {
			d->n_ports = n + 1;
			continue;
		}
		rtnl_link_delete(port->switch_ifindex);
		*port = (struct ethd_port){0};
	}
	return err;
}

/* The port that has been free for the longest, -1 = none. */
static int find_free(const struct ethd *d)
{
	uint64_t now = clock_monotonic_ns();
	int best = -1;

	for (uint32_t n = 0; n < d->n_ports; n++)
		if (d->ports[n].switch_ifindex && !d->ports[n].context &&
		    d->ports[n].busy_until_ns <= now &&
		    (best < 0 || d->ports[n].free_since_ns < d->ports[best].free_since_ns))
			best = (int)n;
	return best;
}

int ethd_port_take(struct ethd *d, uint16_t context, char *why, size_t why_size)
{
	int n = find_free(d), err = 0;

	if (n < 0) {
		err = make_batch(d);
		n = err ? -1 : find_free(d);
	}
	if (n >= 0) {
		d->ports[n].context = context;
		return n;
	}
	snprintf(why, why_size, "no port for a context: %s; see 'ip link' for peps0 and the like",
		 strerror(-err));
	return err ? err : -ENOSPC;
}

int ethd_port_bind(struct ethd *d, int n, int fd)
{
	struct ethd_port *port = &d->ports[n];
	int err = xsk_bind_owner(fd, port->user_ifindex, false, d->is_frags);

	if (err == -EBUSY)
		port->busy_until_ns = clock_monotonic_ns() + BUSY_NS;
	return err;
}

void ethd_port_give(struct ethd *d, int port)
{
	d->ports[port].context = 0;
	d->ports[port].free_since_ns = clock_monotonic_ns();
	/* the kernel frees the queue a little after the last close has returned */
	if (d->ports[port].busy_until_ns == UINT64_MAX)
		d->ports[port].busy_until_ns = clock_monotonic_ns() + SETTLE_NS;
}

void ethd_port_rest(struct ethd *d, int port)
{
	d->ports[port].context = 0;
	d->ports[port].busy_until_ns = UINT64_MAX;
}

void ethd_ports_remove(struct ethd *d)
{
	int err = rtnl_group_delete(GROUP);

	if (err && err != -ENODEV && err != -EINVAL)
		ethd_say("ports stay: %s; remove them with 'ip link del group %u'", strerror(-err),
			 GROUP);
	memset(d->ports, 0, sizeof(d->ports));
	d->n_ports = 0;
}
