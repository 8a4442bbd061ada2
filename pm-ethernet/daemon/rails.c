// SPDX-License-Identifier: BSD-3-Clause
/* Reads the state of NICs by ioctls, and compares it with the state that was known before. */
#include "pm-ethernet/daemon/rails.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-ethernet/daemon/programs.h"

#define HEADROOM 256u /* XDP_PACKET_HEADROOM: the kernel keeps it free in each receive chunk */
#define ETHERNET 14u
#define PLAIN_MTU_MAX 3498u /* largest MTU whose frames a program takes in one piece */
#define MTU_MAX 60000u      /* more would need more pieces than the kernel takes */
#define MTU_MIN 256u

static int ask(int fd, const char *name, unsigned long what, struct ifreq *req)
{
	snprintf(req->ifr_name, sizeof(req->ifr_name), "%s", name);
	return ioctl(fd, what, req) ? -errno : 0;
}

static int ask_ethtool(int fd, const char *name, void *command)
{
	struct ifreq req = {.ifr_data = command};

	return ask(fd, name, SIOCETHTOOL, &req);
}

void ethd_offload_off(const char *name, uint32_t command)
{
	struct ethtool_value value = {.cmd = command};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	ask_ethtool(fd, name, &value);
	close(fd);
}

static uint32_t read_speed(int fd, const char *name)
{
	struct ethtool_cmd command = {.cmd = ETHTOOL_GSET};
	uint32_t speed;

	if (ask_ethtool(fd, name, &command))
		return 0;
	speed = ethtool_cmd_speed(&command);
	return speed == (uint32_t)SPEED_UNKNOWN || speed == 0xffff ? 0 : speed;
}

static void read_driver(int fd, struct ethd_rail *rail)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (!ask_ethtool(fd, rail->name, &info))
		snprintf(rail->driver, sizeof(rail->driver), "%.31s", info.driver);
}

/* The interface as it is; ifindex 0 if there is none of that name. */
static int read_rail(const char *name, struct ethd_rail *ret)
{
	struct ethd_rail rail = {0};
	struct ifreq req = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(rail.name, sizeof(rail.name), "%s", name);
	err = ask(fd, name, SIOCGIFINDEX, &req);
	if (!err) {
		rail.ifindex = (uint32_t)req.ifr_ifindex;
		err = ask(fd, name, SIOCGIFHWADDR, &req);
	}
	if (!err) {
		memcpy(rail.mac, req.ifr_hwaddr.sa_data, ETH_MAC);
		if (req.ifr_hwaddr.sa_family != ARPHRD_ETHER)
			err = -EAFNOSUPPORT;
		else
			err = ask(fd, name, SIOCGIFMTU, &req);
	}
	if (!err) {
		rail.mtu = (uint32_t)req.ifr_mtu;
		err = ask(fd, name, SIOCGIFFLAGS, &req);
	}
	if (!err) {
		rail.is_up = (req.ifr_flags & IFF_UP) && (req.ifr_flags & IFF_RUNNING);
		rail.speed_mbit = read_speed(fd, name);
		read_driver(fd, &rail);
	}
	close(fd);
	if (err == -EAFNOSUPPORT)
		return err;
	if (err)
		rail.ifindex = 0;
	*ret = rail;
	return 0;
}

/* Buffers that hold a packet of every rail; they stay as they are until the daemon ends. */
static void choose_sizes(struct ethd *d)
{
	uint32_t mtu = 0;

	for (uint32_t r = 0; r < d->n_rails; r++)
		if (d->rails[r].mtu > mtu)
			mtu = d->rails[r].mtu;
	for (uint32_t r = 0; r < d->n_rails; r++)
		d->rails[r].mtu_max = d->rails[r].ifindex ? d->rails[r].mtu : mtu;
	d->is_frags = mtu > PLAIN_MTU_MAX;
	d->chunk_bytes = mtu <= 1500 ? 2048 : 4096;
	d->chunks_per_packet =
		(mtu + ETHERNET + d->chunk_bytes - HEADROOM - 1) / (d->chunk_bytes - HEADROOM);
	if (!d->is_frags)
		d->chunks_per_packet = 1;
}

int ethd_rails_open(struct ethd *d, char *why, size_t why_size)
{
	uint32_t n_missing = 0;

	for (uint32_t r = 0; r < d->options.n_nics; r++) {
		struct ethd_rail *rail = &d->rails[r];
		const char *name = d->options.nics[r];
		int err = read_rail(name, rail);

		if (err || !rail->ifindex) {
			snprintf(why, why_size,
				 err == -EAFNOSUPPORT ? "%s is no Ethernet interface; name "
							"Ethernet NICs in --nics"
						      : "no interface %s; name an interface of "
							"this host in --nics, see 'ip link'",
				 name);
			if (err)
				return err;
			n_missing++;
			continue;
		}
		if (rail->mtu < MTU_MIN || rail->mtu > MTU_MAX) {
			snprintf(why, why_size,
				 "%s has MTU %u, usable are %u to %u; change it with 'ip link set "
				 "dev %s mtu'",
				 name, rail->mtu, MTU_MIN, MTU_MAX, name);
			return -EINVAL;
		}
	}
	if (n_missing == d->options.n_nics)
		return -ENODEV;
	d->n_rails = d->options.n_nics;
	choose_sizes(d);
	return (int)n_missing;
}

int ethd_rail_find(const struct ethd *d, const char *name)
{
	for (uint32_t r = 0; r < d->n_rails; r++)
		if (!strcmp(d->rails[r].name, name))
			return (int)r;
	return -ENODEV;
}

void ethd_rails_names(const struct ethd *d, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = 0;
	for (uint32_t r = 0; r < d->n_rails && used < size; r++)
		used += (size_t)snprintf(ret + used, size - used, r ? " %s" : "%s",
					 d->rails[r].name);
}

static void publish_rail(struct ethd *d, uint32_t r)
{
	const struct ethd_rail *rail = &d->rails[r];
	struct eth_board_rail *board = &d->board->rails[r];
	struct eth_nic nic = {.ifindex = rail->ifindex};
	int err;

	memcpy(nic.mac, rail->mac, ETH_MAC);
	/* A frame can't be redirected to an interface that is gone. */
	if (!rail->ifindex)
		bpf_map_delete_elem(d->maps.rails, &r);
	err = bpf_map_update_elem(d->maps.nics, &r, &nic, BPF_ANY);
	if (!err && rail->ifindex)
		err = bpf_map_update_elem(d->maps.rails, &r, &rail->ifindex, BPF_ANY);
	if (err)
		ethd_say("rail %s: kernel programs not told of it: %s", rail->name, strerror(-err));
	if (rail->ifindex) {
		memcpy(board->mac, rail->mac, ETH_MAC);
		board->mtu = rail->mtu;
		board->speed_mbit = rail->speed_mbit;
	}
	snprintf(board->name, sizeof(board->name), "%s", rail->name);
	atomic_store(&board->is_up, rail->is_up && rail->is_programmed);
	atomic_store(&board->is_gone, !rail->ifindex);
}

void ethd_rails_publish(struct ethd *d)
{
	d->board->n_rails = d->n_rails;
	for (uint32_t r = 0; r < d->n_rails; r++)
		publish_rail(d, r);
}

static void refresh_rail(struct ethd *d, uint32_t r)
{
	struct ethd_rail *rail = &d->rails[r], now;
	char why[ETH_WHY] = "";

	if (read_rail(rail->name, &now))
		now = (struct ethd_rail){0};
	if (now.ifindex != rail->ifindex) {
		/* it may be there under another name, and no longer ours to use */
		ethd_program_drop(rail->ifindex);
		rail->is_programmed = false;
		ethd_say("rail %s: interface %s", rail->name, now.ifindex ? "is back" : "is gone");
	} else if (now.is_up != rail->is_up) {
		ethd_say("rail %s: link %s", rail->name, now.is_up ? "up" : "down");
	}
	rail->ifindex = now.ifindex;
	rail->is_up = now.is_up;
	rail->speed_mbit = now.speed_mbit;
	if (now.ifindex) {
		memcpy(rail->mac, now.mac, ETH_MAC);
		rail->mtu = now.mtu < rail->mtu_max ? now.mtu : rail->mtu_max;
		if (!rail->is_programmed && ethd_program_nic(d, r, why, sizeof(why)))
			ethd_say("rail %s: %s", rail->name, why);
	}
}

void ethd_rails_refresh(struct ethd *d)
{
	for (uint32_t r = 0; r < d->n_rails; r++)
		refresh_rail(d, r);
	ethd_rails_publish(d);
}

/* Some of the rails may be gone, and may come back; with none there is nothing to hand out. */
static int check_presence(const struct ethd *d, const uint8_t *rails, uint32_t n, char *why)
{
	size_t used;

	for (uint32_t i = 0; i < n; i++)
		if (d->rails[rails[i]].ifindex)
			return 0;
	used = (size_t)snprintf(why, ETH_WHY, "no interface is left for PM, gone:");
	for (uint32_t i = 0; i < n && used < ETH_WHY; i++)
		used += (size_t)snprintf(why + used, ETH_WHY - used, " %s",
					 d->rails[rails[i]].name);
	if (used < ETH_WHY)
		snprintf(why + used, ETH_WHY - used, "; see 'ip link'");
	return -ENODEV;
}

int ethd_rails_choose(const struct ethd *d, const struct eth_request *r, uint8_t *ret_rails,
		      uint32_t *ret_n, char *why)
{
	uint32_t n = r->n_rails ? r->n_rails : d->n_rails;
	char names[ETH_RAILS * ETH_NAME];

	for (uint32_t i = 0; i < n; i++) {
		int rail = r->n_rails ? ethd_rail_find(d, r->rails[i]) : (int)i;

		if (rail < 0) {
			ethd_rails_names(d, names, sizeof(names));
			snprintf(why, ETH_WHY, "this host has no rail %s; its rails are: %s",
				 r->rails[i], names);
			return rail;
		}
		ret_rails[i] = (uint8_t)rail;
	}
	*ret_n = n;
	return check_presence(d, ret_rails, n, why);
}
