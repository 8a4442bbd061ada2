// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pmv_protocol_name(unsigned int protocol)
{
	switch (protocol) {
	case PMV_INFINIBAND:
		return "InfiniBand";
	case PMV_ROCE_V1:
		return "RoCE v1";
	case PMV_ROCE_V2:
		return "RoCE v2";
	default:
		return "an unknown protocol";
	}
}

/* ::ffff:a.b.c.d */
static bool is_ipv4(const struct pmv_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static int rank(const struct pmv_gid *gid)
{
	if (gid->protocol == PMV_ROCE_V2)
		return is_ipv4(gid) ? 3 : 2;
	return gid->protocol == PMV_ROCE_V1 ? 1 : 0;
}

static int find_index(const struct pmv_port *port, uint32_t index, char *why, size_t why_size)
{
	char known[160] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < port->n_gids; i++) {
		if (port->gids[i].index == index)
			return (int)i;
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%u",
						 i ? ", " : "", port->gids[i].index);
	}
	snprintf(why, why_size,
		 "verbs.gid=%u: port %s:%u has no such entry in its table of addresses, it has %s",
		 index, port->device, port->number, port->n_gids ? known : "none");
	return -ENXIO;
}

int pmv_port_gid(const struct pmv_port *port, uint32_t index, char *why, size_t why_size)
{
	int best = -1;

	if (index != PMV_GID_AUTO)
		return find_index(port, index, why, why_size);
	for (uint32_t i = 0; i < port->n_gids; i++)
		if (best < 0 || rank(&port->gids[i]) > rank(&port->gids[best]))
			best = (int)i;
	if (best >= 0)
		return best;
	snprintf(why, why_size, "verbs: port %s:%u has no address: give its interface one",
		 port->device, port->number);
	return -ENXIO;
}

bool pmv_port_is_named(const struct pmv_port *port, const char *name)
{
	size_t len = strcspn(name, ":");
	unsigned long number = 1;
	char *end;

	if (name[len]) {
		number = strtoul(name + len + 1, &end, 10);
		if (*end || end == name + len + 1)
			return false;
	}
	return strlen(port->device) == len && !memcmp(port->device, name, len) &&
	       number == port->number;
}

/* "rxe0:1, rxe1:1" */
static void list_ports(const struct pmv_port *ports, uint32_t n, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s:%u", i ? ", " : "",
					 ports[i].device, ports[i].number);
}

/* 0, -EAGAIN: it is not active, or -ENODEV; both with a sentence. */
static int find_named(const struct pmv_port *ports, uint32_t n_ports, const char *name,
		      uint32_t *ret, char *why, size_t why_size)
{
	char known[160];

	for (uint32_t i = 0; i < n_ports; i++) {
		if (!pmv_port_is_named(&ports[i], name))
			continue;
		if (!ports[i].is_active) {
			snprintf(why, why_size,
				 "verbs.devices=%s: the port is not active: bring its link up",
				 name);
			return -EAGAIN;
		}
		*ret = i;
		return 0;
	}
	list_ports(ports, n_ports, known, sizeof(known));
	snprintf(why, why_size, "verbs.devices=%s: there is no such port here, there are %s", name,
		 n_ports ? known : "none");
	return -ENODEV;
}

static int choose_named(const struct pmv_port *ports, uint32_t n_ports, const char *names,
			size_t width, uint32_t n_names, uint32_t *ret, uint32_t max, char *why,
			size_t why_size)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_names && n < max; i++) {
		int err = find_named(ports, n_ports, names + i * width, &ret[n], why, why_size);

		if (err && err != -EAGAIN)
			return err;
		n += !err;
	}
	return n ? (int)n : -ENODEV;
}

int pmv_port_choose(const struct pmv_port *ports, uint32_t n_ports, const char *names, size_t width,
		    uint32_t n_names, uint32_t *ret, uint32_t max, char *why, size_t why_size)
{
	char known[160];
	uint32_t n = 0;

	if (n_names)
		return choose_named(ports, n_ports, names, width, n_names, ret, max, why, why_size);
	for (uint32_t i = 0; i < n_ports && n < max; i++)
		if (ports[i].is_active)
			ret[n++] = i;
	if (n)
		return (int)n;
	list_ports(ports, n_ports, known, sizeof(known));
	if (n_ports)
		snprintf(why, why_size, "verbs: no port is active of %s: bring a link up", known);
	else
		snprintf(why, why_size, "verbs: no RDMA device has a port");
	return -ENODEV;
}

int pmv_port_reaches(const struct pmv_end *ours, const struct pmv_end *theirs, char *why,
		     size_t why_size)
{
	if (ours->protocol != theirs->protocol) {
		snprintf(why, why_size,
			 "this port speaks %s and the other %s: choose alike by verbs.gid",
			 pmv_protocol_name(ours->protocol), pmv_protocol_name(theirs->protocol));
		return -EHOSTUNREACH;
	}
	if (ours->mtu != theirs->mtu) {
		snprintf(why, why_size,
			 "the MTU is %u bytes on this port and %u on the other: make them equal",
			 ours->mtu, theirs->mtu);
		return -EHOSTUNREACH;
	}
	if (ours->protocol == PMV_INFINIBAND && memcmp(ours->gid, theirs->gid, 8) != 0) {
		snprintf(why, why_size,
			 "the ports are in different subnets, prefix %02x%02x:..:%02x%02x here and "
			 "%02x%02x:..:%02x%02x there: use ports of one fabric",
			 ours->gid[0], ours->gid[1], ours->gid[6], ours->gid[7], theirs->gid[0],
			 theirs->gid[1], theirs->gid[6], theirs->gid[7]);
		return -EHOSTUNREACH;
	}
	return 0;
}

void pmv_port_explain_memlock(uint64_t limit, const char *what, char *why, size_t why_size)
{
	if (limit == UINT64_MAX) {
		snprintf(why, why_size,
			 "verbs: %s: no memory, though locking it is not limited (RLIMIT_MEMLOCK), "
			 "or " PMV_NO_MORE,
			 what);
		return;
	}
	snprintf(why, why_size,
		 "verbs: %s: only %llu KiB of memory may be locked (RLIMIT_MEMLOCK): write \"* - "
		 "memlock "
		 "unlimited\" in /etc/security/limits.d/rdma.conf, and LimitMEMLOCK=infinity in "
		 "the unit "
		 "of what starts jobs (systemctl edit scnoded)",
		 what, (unsigned long long)(limit >> 10));
}

int pmv_port_explain_open(int err, const char *name, const char *node, char *why, size_t why_size)
{
	if (err == EACCES || err == EPERM)
		snprintf(why, why_size,
			 "verbs: device %s: no permission for /dev/infiniband/%s: a udev rule with "
			 "KERNEL==\"uverbs*\", MODE=\"0666\" gives it",
			 name, node);
	else if (err == ENOENT || err == ENODEV || err == ENXIO)
		snprintf(why, why_size,
			 "verbs: device %s: there is no /dev/infiniband/%s: load the module "
			 "ib_uverbs",
			 name, node);
	else if (err == EAGAIN)
		snprintf(why, why_size, "verbs: device %s cannot be opened: " PMV_NO_MORE, name);
	else
		snprintf(why, why_size, "verbs: device %s cannot be opened: %s", name,
			 strerror(err));
	return err == EACCES || err == EPERM ? -EPERM : -ENODEV;
}
