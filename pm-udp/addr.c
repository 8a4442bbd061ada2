// SPDX-License-Identifier: BSD-3-Clause
/*
 * addr - rails from interfaces, the published address and its checks, pairing of rails by subnet.
 * The address that a peer publishes is untrusted: it is checked in pmu_addr_unpack and nowhere
 * else.
 */
#include "pm-udp/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/conf.h"

#define BLOB_VERSION 1
#define SCAN_MAX 256
#define RAIL_LOOPBACK 0x01 /* flag of a rail in the blob */
#define PAYLOAD_MIN 512

char *pmu_addr_text(uint32_t address, char *buf)
{
	snprintf(buf, 16, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
		 address & 255);
	return buf;
}

static uint32_t mask_of(unsigned int prefix)
{
	return prefix ? 0xffffffffu << (32 - prefix) : 0;
}

/* ---- local interfaces ---- */

static uint32_t payload_of(const struct conf *conf, uint32_t mtu, bool is_loopback)
{
	uint32_t payload;

	if (conf->udp_mtu && conf->udp_mtu < mtu)
		mtu = conf->udp_mtu;
	if (mtu < PAYLOAD_MIN + PMU_HEADERS)
		return 0;
	payload = (mtu - PMU_HEADERS) & ~7u;
	if (is_loopback && !conf->udp_mtu && payload > PMU_LOOPBACK_PAYLOAD)
		payload = PMU_LOOPBACK_PAYLOAD;
	return payload < PMU_PAYLOAD_MAX ? payload : PMU_PAYLOAD_MAX;
}

static uint32_t mtu_of(int fd, const char *name)
{
	struct ifreq req = {0};

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	return ioctl(fd, SIOCGIFMTU, &req) || req.ifr_mtu < 0 ? 0 : (uint32_t)req.ifr_mtu;
}

static bool fill(const struct conf *conf, int fd, const struct ifaddrs *from, struct pmu_iface *to)
{
	const struct sockaddr_in *sin = (const void *)from->ifa_addr;
	const struct sockaddr_in *mask = (const void *)from->ifa_netmask;

	if (!sin || sin->sin_family != AF_INET)
		return false;
	*to = (struct pmu_iface){
		.index = (int)if_nametoindex(from->ifa_name),
		.address = ntohl(sin->sin_addr.s_addr),
		.prefix = mask ? (uint8_t)__builtin_popcount(mask->sin_addr.s_addr) : 32,
		.is_loopback = from->ifa_flags & IFF_LOOPBACK,
		.is_up = from->ifa_flags & IFF_UP,
		.has_carrier = from->ifa_flags & IFF_RUNNING,
	};
	/* the label of a secondary address may be "eth0:1"; the interface is what stands before */
	snprintf(to->name, sizeof(to->name), "%.*s", (int)strcspn(from->ifa_name, ":"),
		 from->ifa_name);
	if (!to->index)
		to->index = (int)if_nametoindex(to->name);
	to->payload = payload_of(conf, mtu_of(fd, to->name), to->is_loopback);
	return to->payload && to->index;
}

int pmu_addr_scan(const struct conf *conf, struct pmu_iface *ifaces, int room)
{
	struct ifaddrs *list;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), n = 0;

	if (fd < 0)
		return -errno;
	if (getifaddrs(&list)) {
		n = -errno;
		close(fd);
		return n;
	}
	for (struct ifaddrs *a = list; a && n < room; a = a->ifa_next)
		n += fill(conf, fd, a, &ifaces[n]);
	freeifaddrs(list);
	close(fd);
	return n;
}

/* Appends the first address of each interface of one kind, up to @room rails in all. */
static int append(const struct pmu_iface *all, int n, bool is_loopback, bool has_carrier, int room,
		  struct pmu_iface rails[PM_RAILS_MAX], int chosen)
{
	for (int i = 0; i < n && chosen < room; i++) {
		/* point-to-point tunnels are left to those who name them */
		bool is_new = all[i].prefix < 32;

		if (!all[i].is_up || all[i].has_carrier != has_carrier ||
		    all[i].is_loopback != is_loopback)
			continue;
		for (int j = 0; j < chosen; j++)
			is_new &= rails[j].index != all[i].index;
		if (is_new)
			rails[chosen++] = all[i];
	}
	return chosen;
}

/*
 * All interfaces with a carrier. Where there is none, those whose carrier may still come (a host
 * that has just booted), and loopback for a job within the host.
 */
static int choose_usable(const struct pmu_iface *all, int n, struct pmu_iface rails[PM_RAILS_MAX])
{
	int chosen = append(all, n, false, true, PM_RAILS_MAX, rails, 0);

	if (chosen)
		return chosen;
	chosen = append(all, n, false, false, PM_RAILS_MAX - 1, rails, 0);
	return append(all, n, true, true, PM_RAILS_MAX, rails, chosen);
}

/* Does an entry of udp.rails (interface, address or subnet) mean this address? */
static bool is_meant(const char *entry, const struct pmu_iface *iface)
{
	char text[48];
	struct in_addr addr;
	char *slash;
	unsigned long prefix = 32;

	snprintf(text, sizeof(text), "%s", entry);
	slash = strchr(text, '/');
	if (slash) {
		char *end;

		*slash = 0;
		prefix = strtoul(slash + 1, &end, 10);
		if (*end || end == slash + 1 || prefix > 32)
			return false;
	}
	if (inet_pton(AF_INET, text, &addr) == 1)
		return !((ntohl(addr.s_addr) ^ iface->address) & mask_of((unsigned int)prefix));
	return !slash && !strcmp(text, iface->name);
}

bool pmu_addr_has(const struct pmu_iface *iface, uint32_t address)
{
	uint32_t differs = iface->address ^ address;

	return !differs || (iface->is_loopback && !(differs & mask_of(iface->prefix)));
}

/* The rail that an entry of udp.rails means, if it is none of those @chosen before. */
static bool find_named(const char *entry, const struct pmu_iface *all, int n,
		       const struct pmu_iface *rails, int chosen, struct pmu_iface *ret)
{
	struct in_addr addr;
	bool is_address = inet_pton(AF_INET, entry, &addr) == 1;

	for (int i = 0; i < n; i++) {
		struct pmu_iface iface = all[i];
		bool is_taken = false, is_found;

		if (is_address && pmu_addr_has(&iface, ntohl(addr.s_addr))) {
			iface.address = ntohl(addr.s_addr);
			is_found = true;
		} else {
			is_found = is_meant(entry, &iface);
		}
		for (int j = 0; j < chosen; j++)
			is_taken |= rails[j].address == iface.address;
		if (is_found && !is_taken) {
			*ret = iface;
			return true;
		}
	}
	return false;
}

static void list_names(const struct pmu_iface *all, int n, char *buf, size_t size)
{
	size_t used = 0;
	char text[16];

	buf[0] = 0;
	for (int i = 0; i < n && used + 1 < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s (%s/%u)", i ? ", " : "",
					 all[i].name, pmu_addr_text(all[i].address, text),
					 all[i].prefix);
}

static int choose_named(const struct conf *conf, const struct pmu_iface *all, int n,
			struct pmu_iface rails[PM_RAILS_MAX], char *why, size_t why_size)
{
	int chosen = 0;

	for (unsigned int e = 0; e < conf->n_udp_rails; e++) {
		const char *entry = conf->udp_rails[e];

		if (find_named(entry, all, n, rails, chosen, &rails[chosen])) {
			chosen++;
		} else if (!conf->udp_is_lane) {
			char names[256];

			list_names(all, n, names, sizeof(names));
			snprintf(why, why_size,
				 "udp.rails: \"%s\" names no (further) IPv4 address of this host; "
				 "write an interface, address or subnet of: %s",
				 entry, names[0] ? names : "(none)");
			return -ENODEV;
		}
	}
	if (!chosen)
		snprintf(why, why_size, "udp: no rail has an IPv4 address");
	return chosen ? chosen : -ENODEV;
}

int pmu_addr_rails(const struct conf *conf, struct pmu_iface rails[PM_RAILS_MAX], char *why,
		   size_t why_size)
{
	struct pmu_iface *all = calloc(SCAN_MAX, sizeof(*all));
	int n, chosen;

	if (!all)
		return -ENOMEM;
	n = pmu_addr_scan(conf, all, SCAN_MAX);
	if (n < 0) {
		snprintf(why, why_size, "udp: the interfaces can't be listed: %s", strerror(-n));
		chosen = n;
	} else if (conf->n_udp_rails) {
		chosen = choose_named(conf, all, n, rails, why, why_size);
	} else {
		chosen = choose_usable(all, n, rails);
		if (!chosen) {
			snprintf(why, why_size,
				 "udp: no interface is up with an IPv4 address; bring one up "
				 "(ip link set lo up is enough on a single host)");
			chosen = -ENODEV;
		}
	}
	free(all);
	return chosen;
}

uint64_t pmu_addr_host(void)
{
	char boot[64] = "";
	struct stat ns = {0};
	uint64_t hash = 0xcbf29ce484222325ull;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, sizeof(boot) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || stat("/proc/self/ns/net", &ns)) {
		/* without /proc every process counts as a host: only loopback rails suffer */
		if (getrandom(&hash, sizeof(hash), 0) != (ssize_t)sizeof(hash))
			hash = (uint64_t)getpid();
		return hash;
	}
	for (ssize_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)boot[i]) * 0x100000001b3ull;
	return (hash ^ ns.st_ino) * 0x100000001b3ull ^ ns.st_dev;
}

/* ---- the published address ---- */

/*
 * Blob, little-endian: u8 version, u8 rails, u16 port, u64 host, then per rail u32 address, u16
 * payload, u8 prefix, u8 flags.
 */
static void put(uint8_t **at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		*(*at)++ = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t **at, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

int pmu_addr_pack(const struct pmu_address *address, void *buf, size_t room)
{
	uint8_t *at = buf;

	if (room < 12 + 8 * (size_t)address->n_rails)
		return -ENOSPC;
	put(&at, BLOB_VERSION, 1);
	put(&at, address->n_rails, 1);
	put(&at, address->port, 2);
	put(&at, address->host, 8);
	for (uint32_t r = 0; r < address->n_rails; r++) {
		put(&at, address->rails[r].address, 4);
		put(&at, address->rails[r].payload, 2);
		put(&at, address->rails[r].prefix, 1);
		put(&at, address->rails[r].is_loopback ? RAIL_LOOPBACK : 0, 1);
	}
	return (int)(at - (uint8_t *)buf);
}

/* An address a host may have: no broadcast, multicast or reserved one. */
static bool is_unicast(uint32_t address)
{
	return address >> 24 != 0 && address < 0xe0000000u;
}

int pmu_addr_unpack(const void *buf, size_t len, struct pmu_address *ret_address)
{
	struct pmu_address a = {0};
	const uint8_t *at = buf;

	if (len < 12 || get(&at, 1) != BLOB_VERSION)
		return -EINVAL;
	a.n_rails = (uint32_t)get(&at, 1);
	a.port = (uint16_t)get(&at, 2);
	a.host = get(&at, 8);
	if (!a.n_rails || a.n_rails > PM_RAILS_MAX || len != 12 + 8 * (size_t)a.n_rails || !a.port)
		return -EINVAL;
	for (uint32_t r = 0; r < a.n_rails; r++) {
		uint32_t flags;

		a.rails[r].address = (uint32_t)get(&at, 4);
		a.rails[r].payload = (uint32_t)get(&at, 2);
		a.rails[r].prefix = (uint8_t)get(&at, 1);
		flags = (uint32_t)get(&at, 1);
		a.rails[r].is_loopback = flags & RAIL_LOOPBACK;
		if (!is_unicast(a.rails[r].address) || a.rails[r].prefix > 32 ||
		    flags & ~(uint32_t)RAIL_LOOPBACK || a.rails[r].payload & 7 ||
		    a.rails[r].payload < PAYLOAD_MIN - 7 || a.rails[r].payload > PMU_PAYLOAD_MAX)
			return -EINVAL;
	}
	*ret_address = a;
	return 0;
}

/* ---- pairing ---- */

/*
 * May local rail @l talk to the peer's rail @p as a neighbour? An address equal to ours on another
 * host is a private bridge that both hosts have (docker0, virbr0), no path.
 */
static bool is_neighbour(const struct pmu_address *local, uint32_t l,
			 const struct pmu_address *peer, uint32_t p)
{
	bool is_same_host = local->host == peer->host;
	uint32_t a = local->rails[l].address, b = peer->rails[p].address;

	if (local->rails[l].is_loopback != peer->rails[p].is_loopback)
		return false;
	if (local->rails[l].is_loopback || a == b)
		return is_same_host;
	return !((a ^ b) & mask_of(local->rails[l].prefix));
}

/* The local address the kernel would use towards @to, 0 = no route. */
static uint32_t source_towards(uint32_t to, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(to)};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t source = 0;

	if (fd < 0)
		return 0;
	if (!connect(fd, (struct sockaddr *)&sin, sizeof(sin)) &&
	    !getsockname(fd, (struct sockaddr *)&sin, &len))
		source = ntohl(sin.sin_addr.s_addr);
	close(fd);
	return source;
}

static uint32_t pair_routed(const struct pmu_address *local, const struct pmu_address *peer,
			    uint32_t ret_to[PM_RAILS_MAX], uint32_t *ret_payload)
{
	for (uint32_t p = 0; p < peer->n_rails; p++) {
		uint32_t source, rail = 0;
		bool is_ours = false;

		if (peer->rails[p].is_loopback)
			continue;
		for (uint32_t l = 0; l < local->n_rails; l++)
			is_ours |= local->rails[l].address == peer->rails[p].address;
		if (is_ours)
			continue;
		source = source_towards(peer->rails[p].address, peer->port);
		if (!source)
			continue;
		for (uint32_t l = 0; l < local->n_rails; l++)
			if (local->rails[l].address == source)
				rail = l;
		if (local->rails[rail].is_loopback)
			continue;
		ret_to[rail] = peer->rails[p].address;
		*ret_payload = peer->rails[p].payload < local->rails[rail].payload
				       ? peer->rails[p].payload
				       : local->rails[rail].payload;
		return 1u << rail;
	}
	return 0;
}

uint32_t pmu_addr_pair(const struct pmu_address *local, const struct pmu_address *peer,
		       bool neighbours, uint32_t ret_to[PM_RAILS_MAX], uint32_t *ret_payload)
{
	uint32_t mask = 0, taken = 0, payload = PMU_PAYLOAD_MAX;

	for (uint32_t l = 0; l < local->n_rails; l++) {
		int best = -1;

		/* the same address first (same host), then an address no other rail leads to */
		for (uint32_t p = 0; p < peer->n_rails; p++) {
			if (!is_neighbour(local, l, peer, p))
				continue;
			if (local->rails[l].address == peer->rails[p].address) {
				best = (int)p;
				break;
			}
			if (best < 0 || (taken >> best & 1 && !(taken >> p & 1)))
				best = (int)p;
		}
		if (best < 0)
			continue;
		mask |= 1u << l;
		taken |= 1u << best;
		ret_to[l] = peer->rails[best].address;
		if (peer->rails[best].payload < payload)
			payload = peer->rails[best].payload;
		if (local->rails[l].payload < payload)
			payload = local->rails[l].payload;
	}
	if (!mask)
		return neighbours ? 0 : pair_routed(local, peer, ret_to, ret_payload);
	*ret_payload = payload;
	return mask;
}
