// SPDX-License-Identifier: BSD-3-Clause
/*
 * discover - asks the library which devices and ports there are, and hands on those that become
 * rails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pm-verbs/hw/discover.h"

#define PORTS_MAX 32

/* All ports of all devices, as far as they could be asked. */
struct ports {
	struct pmv_port port[PORTS_MAX];
	struct ibv_device *device[PORTS_MAX];
	uint32_t n;
	char why[VERBS_WHY * 2]; /* the last device that could not be */
	int error;               /* ... negative, 0 = none */
};

static enum pmv_protocol protocol_of(uint32_t gid_type)
{
	return gid_type == IBV_GID_TYPE_ROCE_V2   ? PMV_ROCE_V2
	       : gid_type == IBV_GID_TYPE_ROCE_V1 ? PMV_ROCE_V1
						  : PMV_INFINIBAND;
}

static bool is_zero(const union ibv_gid *gid)
{
	return !gid->global.interface_id && !gid->global.subnet_prefix;
}

static void ask_gids(const struct verbs *v, struct ibv_context *context, struct pmv_port *port,
		     int n)
{
	for (int i = 0; i < n && port->n_gids < PMV_GIDS_MAX; i++) {
		struct pmv_gid *gid = &port->gids[port->n_gids];
		struct ibv_gid_entry entry;

		/* holes in the table are told as errors */
		if (v->query_gid_ex(context, port->number, (uint32_t)i, &entry, 0, sizeof(entry)) ||
		    is_zero(&entry.gid))
			continue;
		memcpy(gid->raw, entry.gid.raw, sizeof(gid->raw));
		gid->index = (uint32_t)i;
		gid->protocol = protocol_of(entry.gid_type);
		port->n_gids++;
	}
}

static void ask_port(const struct verbs *v, struct ibv_context *context, struct ibv_device *device,
		     uint8_t number, struct ports *ports)
{
	struct pmv_port *port = &ports->port[ports->n];
	struct ibv_port_attr attr;
	int err = verbs_query_port(v, context, number, &attr);

	if (err) {
		snprintf(ports->why, sizeof(ports->why), "verbs: port %s:%u cannot be asked: %s",
			 device->name, number, strerror(err));
		return;
	}
	memset(port, 0, sizeof(*port));
	snprintf(port->device, sizeof(port->device), "%s", device->name);
	port->number = number;
	port->is_active = attr.state == IBV_PORT_ACTIVE;
	port->is_ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	port->lid = attr.lid;
	port->mtu = 128u << attr.active_mtu;
	ask_gids(v, context, port, attr.gid_tbl_len);
	ports->device[ports->n++] = device;
}

/* The library would wait seconds for udev to change that, and then tell another reason. */
static bool is_denied(const struct ibv_device *device)
{
	char path[sizeof(device->dev_name) + 32];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) && errno == EACCES;
}

static void ask_device(const struct verbs *v, struct ibv_device *device, struct ports *ports)
{
	struct ibv_context *context = is_denied(device) ? NULL : v->open_device(device);
	struct ibv_device_attr attr;
	int err;

	if (!context) {
		ports->error = pmv_port_explain_open(errno, device->name, device->dev_name,
						     ports->why, sizeof(ports->why));
		return;
	}
	err = v->query_device(context, &attr);
	if (err)
		snprintf(ports->why, sizeof(ports->why), "verbs: device %s cannot be asked: %s",
			 device->name, strerror(err));
	for (uint8_t i = 1; !err && i <= attr.phys_port_cnt && ports->n < PORTS_MAX; i++)
		ask_port(v, context, device, i, ports);
	v->close_device(context);
}

/* Appends a name to a list that has @used bytes already. Returns the bytes used then. */
static size_t list_name(char *text, size_t size, size_t used, const char *name)
{
	if (used >= size)
		return used;
	return used + (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
}

/*
 * A rail has the number that it has where all ports are active, so that both ends of a wire call it
 * alike. The note names the ports that are not active.
 */
static void number_rails(const struct pmv_discovery *d, struct ports *ports, const uint32_t *chosen,
			 int n)
{
	char missing[160] = "";
	size_t used = 0;
	int rail = 0;

	for (uint32_t i = 0; i < d->conf->n_verbs_devices; i++) {
		const char *name = d->conf->verbs_devices[i];

		if (rail < n && pmv_port_is_named(&ports->port[chosen[rail]], name)) {
			ports->port[chosen[rail]].skipped = (uint8_t)(i - (uint32_t)rail);
			rail++;
		} else {
			used = list_name(missing, sizeof(missing), used, name);
		}
	}
	if (used && d->note)
		snprintf(d->note, d->note_size,
			 "verbs: going on without %s: not active, bring the link up", missing);
}

/* Hands on what is chosen of @ports. */
static int take_ports(const struct pmv_discovery *d, struct ports *ports)
{
	uint32_t chosen[PM_RAILS_MAX];
	int n = pmv_port_choose(ports->port, ports->n, d->conf->verbs_devices[0],
				sizeof(d->conf->verbs_devices[0]), d->conf->n_verbs_devices, chosen,
				PM_RAILS_MAX, d->why, d->why_size);
	int err = n < 0 ? n : 0;

	/* a device that can't be opened is the better reason for having no port */
	if (n < 0 && ports->why[0])
		snprintf(d->why, d->why_size, "%s", ports->why);
	if (n < 0 && ports->error)
		return ports->error;
	if (!err)
		number_rails(d, ports, chosen, n);
	for (int i = 0; !err && i < n; i++) {
		const struct pmv_port *port = &ports->port[chosen[i]];
		int gid = pmv_port_gid(port, d->conf->verbs_gid, d->why, d->why_size);

		err = gid < 0 ? gid : d->take(d->arg, port, gid, ports->device[chosen[i]]);
	}
	return err;
}

int pmv_discover(const struct pmv_discovery *d)
{
	struct ports *ports = calloc(1, sizeof(*ports));
	struct ibv_device **list;
	int n = 0, err = 0;

	if (!ports)
		return -ENOMEM;
	list = d->v->get_device_list(&n);
	if (!list || !n) {
		/* ENOSYS: a kernel without any of it */
		if (list || errno == ENOSYS)
			snprintf(d->why, d->why_size, PMV_NO_DEVICE);
		else
			snprintf(d->why, d->why_size, "verbs: RDMA devices cannot be listed: %s",
				 strerror(errno));
		err = -ENODEV;
	}
	for (int i = 0; !err && i < n; i++)
		ask_device(d->v, list[i], ports);
	if (!err)
		err = take_ports(d, ports);
	if (list)
		d->v->free_device_list(list);
	free(ports);
	return err;
}
