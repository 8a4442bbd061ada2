// SPDX-License-Identifier: BSD-3-Clause
/*
 * The three programs at work: a cable into a NIC, and a port behind it, all in a network namespace
 * that ends with this program. The other tests check the verdict of a single run; this one checks
 * that frames arrive where the verdict sends them. Two of the programs run at tc as well.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/tap.h"
#include "tests/unit/pm-ethernet/bpf/bed.h"

#define RAIL 1
#define CHUNK 2048
#define CHUNKS 16 /* more than a test receives: none is given back */
#define WAIT_MS 5000

/* Receiving half of an AF_XDP socket. */
struct xsk {
	int fd;
	uint8_t *memory;
	_Atomic uint32_t *producer;
	struct xdp_desc *descs;
	uint32_t taken;
};

static struct bed bed;
static struct bed_frame frame, got;
/* Two pairs: cable and NIC, switch end and user end of a port. */
static uint32_t cable, nic, switch_end, user_end;

static bool build_net(void)
{
	if (unshare(CLONE_NEWNET) ||
	    system("command -v ip >/dev/null && command -v ethtool >/dev/null")) {
		tap_skip("no network namespace of our own, or no ip, or no ethtool");
		return false;
	}
	/*
	 * A native program sends into a veth only when the other end polls, which GRO makes it do.
	 */
	if (!is_int(system("ip link add cable type veth peer name nic &&"
			   "ip link add peps type veth peer name pepu &&"
			   "ethtool -K cable gro on >/dev/null && ip link set cable up &&"
			   "ip link set nic up && ip link set peps up && ip link set pepu up"),
		    0))
		return false;
	cable = if_nametoindex("cable");
	nic = if_nametoindex("nic");
	switch_end = if_nametoindex("peps");
	user_end = if_nametoindex("pepu");
	return ok(cable && nic && switch_end && user_end);
}

static bool attach(uint32_t interface, enum bed_program program, uint32_t mode)
{
	return is_int(bpf_xdp_attach(interface, bed.programs[program], mode, NULL), 0);
}

static int open_packet(uint32_t interface, uint16_t type)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = type, .sll_ifindex = interface};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, type), on = 1;

	/* The queue of an interface that has just come up drops in silence until the kernel's
	 * link watch has seen it. */
	is_int(setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)), 0);
	is_int(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void *map_ring(const struct xsk *xsk, size_t bytes, uint64_t offset)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, xsk->fd, offset);
}

static bool xsk_rings(struct xsk *xsk)
{
	struct xdp_mmap_offsets off;
	socklen_t size = sizeof(off);
	uint64_t *fill;
	uint8_t *ring;
	uint32_t i;

	if (!is_int(getsockopt(xsk->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &size), 0))
		return false;
	ring = map_ring(xsk, off.fr.desc + CHUNKS * sizeof(*fill), XDP_UMEM_PGOFF_FILL_RING);
	if (!ok(ring != MAP_FAILED))
		return false;
	fill = (uint64_t *)(ring + off.fr.desc);
	for (i = 0; i < CHUNKS; i++)
		fill[i] = i * CHUNK;
	atomic_store((_Atomic uint32_t *)(ring + off.fr.producer), CHUNKS);
	ring = map_ring(xsk, off.rx.desc + CHUNKS * sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
	if (!ok(ring != MAP_FAILED))
		return false;
	xsk->producer = (_Atomic uint32_t *)(ring + off.rx.producer);
	xsk->descs = (struct xdp_desc *)(ring + off.rx.desc);
	return true;
}

static bool xsk_open(struct xsk *xsk, uint32_t interface)
{
	struct sockaddr_xdp at = {
		.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_ifindex = interface};
	struct xdp_umem_reg umem = {.len = CHUNKS * CHUNK, .chunk_size = CHUNK};
	int entries = CHUNKS;

	xsk->taken = 0;
	xsk->memory = mmap(NULL, CHUNKS * CHUNK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	umem.addr = (uintptr_t)xsk->memory;
	xsk->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	return ok(xsk->fd >= 0) &&
	       is_int(setsockopt(xsk->fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)), 0) &&
	       is_int(setsockopt(xsk->fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, 4), 0) &&
	       is_int(setsockopt(xsk->fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, 4), 0) &&
	       is_int(setsockopt(xsk->fd, SOL_XDP, XDP_RX_RING, &entries, 4), 0) &&
	       xsk_rings(xsk) && is_int(bind(xsk->fd, (struct sockaddr *)&at, sizeof(at)), 0);
}

static void xsk_close(const struct xsk *xsk)
{
	if (xsk->fd >= 0)
		close(xsk->fd);
}

/* The next frame, into got. */
static bool xsk_receive(struct xsk *xsk)
{
	struct pollfd p = {.fd = xsk->fd, .events = POLLIN};
	const struct xdp_desc *desc = &xsk->descs[xsk->taken % CHUNKS];

	while (atomic_load(xsk->producer) == xsk->taken)
		if (!okf(poll(&p, 1, WAIT_MS) == 1, "nothing came to the socket"))
			return false;
	xsk->taken++;
	got.length = desc->len;
	memcpy(got.bytes, xsk->memory + desc->addr, desc->len);
	return true;
}

static bool packet_receive(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (!okf(poll(&p, 1, WAIT_MS) == 1, "nothing came to the packet socket"))
		return false;
	got.length = recv(fd, got.bytes, sizeof(got.bytes), 0);
	return true;
}

static void packet_send(int fd)
{
	is_int(send(fd, frame.bytes, frame.length, 0), frame.length);
}

/* The frame received equals the frame sent, except for these fields, which the programs write. */
static void check_got(const uint8_t *src_mac, uint8_t ttl, uint8_t in_rail)
{
	memcpy(frame.head.src_mac, src_mac, ETH_MAC);
	frame.head.ttl = ttl;
	frame.head.in_rail = in_rail;
	is_int(got.length, frame.length);
	is_mem(got.bytes, frame.bytes, frame.length);
}

static void check_in(int from, struct xsk *to, uint16_t context, uint16_t body)
{
	uint8_t mac[ETH_MAC];

	bed_packet_in(&frame, context, body);
	memcpy(mac, frame.head.src_mac, ETH_MAC);
	packet_send(from);
	if (xsk_receive(to))
		check_got(mac, frame.head.ttl, RAIL);
}

/* From the process's end of the port, out on the cable. */
static void check_out(int from, int to, uint16_t body)
{
	static const uint8_t mac[ETH_MAC] = {2, 0, 0, 0, 0, 0x10 + RAIL};

	bed_packet_out(&frame, body);
	frame.head.rail = RAIL;
	packet_send(from);
	if (packet_receive(to))
		check_got(mac, ETH_TTL, frame.head.in_rail);
}

/* A frame for the daemon or for the kernel arrives there unchanged. */
static void check_passed(int from, uint16_t type, uint8_t kind)
{
	int to = open_packet(nic, type);

	bed_packet_in(&frame, 0, 100);
	frame.head.type = type;
	frame.head.kind = kind;
	packet_send(from);
	if (packet_receive(to)) {
		is_int(got.length, frame.length);
		is_mem(got.bytes, frame.bytes, frame.length);
	}
	close(to);
}

static void fill_maps(const struct xsk *direct, const struct xsk *door)
{
	struct eth_grant grant = {.key = BED_KEY, .context = BED_PORT};

	bed_put(bed.grants, switch_end, &grant);
	bed_put(bed.rails, RAIL, &nic);
	bed_put(bed.ports, BED_PORT, &switch_end);
	bed_put(bed.sockets, BED_DIRECT * ETH_RAILS + RAIL, &direct->fd);
	bed_put(bed.doors, BED_PORT, &door->fd);
}

static void use(struct xsk *direct, struct xsk *door)
{
	int far = open_packet(cable, BED_TYPE), process = open_packet(user_end, 0), i;

	fill_maps(direct, door);
	for (i = 0; i < 3; i++) {
		check_in(far, direct, BED_DIRECT, 40 + i * 500);
		check_in(far, door, BED_PORT, 40 + i * 500);
		check_out(process, far, 40 + i * 500);
	}
	check_passed(far, BED_TYPE, ETH_QUERY);
	check_passed(far, BED_TYPE, ETH_ANSWER);
	check_passed(far, htons(0x0806), ETH_PACKET);
	check_passed(far, htons(0x0800), ETH_PACKET);
	close(far);
	close(process);
}

static void run_live(uint32_t mode, bool is_frags)
{
	struct xsk direct = {.fd = -1}, door = {.fd = -1};

	if (!build_net())
		return;
	if (bed_open(&bed, RAIL, is_frags) && attach(nic, BED_NIC, mode) &&
	    attach(switch_end, BED_FROM_PORT, mode) && attach(user_end, BED_DOOR, mode) &&
	    xsk_open(&direct, nic) && xsk_open(&door, user_end))
		use(&direct, &door);
	xsk_close(&direct);
	xsk_close(&door);
	bed_close(&bed);
}

/* ---- at tc ---- */

#define TCX_INGRESS ((enum bpf_attach_type)46)

static bool attach_tc(uint32_t interface, enum bed_program program)
{
	return is_int(bpf_prog_attach(bed.programs[program], (int)interface, TCX_INGRESS, 0), 0);
}

static bool inbox_receive(struct bed_inbox *from)
{
	struct pollfd p = {.fd = from->fd, .events = POLLIN};

	/* records come without a word unless their reader says that it sleeps */
	for (int i = 0; i < WAIT_MS; i++) {
		if (bed_look(&bed, from, &got))
			return true;
		poll(&p, 1, 1);
	}
	return okf(false, "nothing came to the inbox");
}

static void check_in_tc(int from, struct bed_inbox *to, uint16_t context, uint16_t body)
{
	uint8_t mac[ETH_MAC];

	bed_packet_in(&frame, context, body);
	memcpy(mac, frame.head.src_mac, ETH_MAC);
	packet_send(from);
	if (inbox_receive(to))
		check_got(mac, frame.head.ttl, RAIL);
}

/* In a VLAN whose tag the kernel takes out of the frame before the program sees it: not for us. */
static void check_tagged(int from, struct bed_inbox *inbox)
{
	static const uint8_t tag[] = {0x81, 0, 0, 5};

	bed_packet_in(&frame, BED_DIRECT, 40);
	memmove(frame.bytes + 16, frame.bytes + 12, frame.length - 12);
	memcpy(frame.bytes + 12, tag, sizeof(tag));
	frame.length += sizeof(tag);
	packet_send(from);
	check_in_tc(from, inbox, BED_DIRECT, 500);
	is_int((long long)(inbox->taken % 64), 0);
}

static void use_tc(void)
{
	static const uint16_t bodies[] = {0, 40, 700, 1400, 3000, 8800};
	struct eth_grant grant = {.key = BED_KEY, .context = BED_PORT};
	struct eth_nic own = {.ifindex = nic, .mac = {2, 0, 0, 0, 0, 0x10 + RAIL}};
	int far = open_packet(cable, BED_TYPE), process = open_packet(user_end, 0);

	bed_put(bed.grants, switch_end, &grant);
	bed_put(bed.nics, RAIL, &own);
	for (uint32_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		check_in_tc(far, &bed.direct, BED_DIRECT, bodies[i]);
		check_in_tc(far, &bed.port, BED_PORT, bodies[i]);
		check_out(process, far, bodies[i]);
	}
	check_tagged(far, &bed.direct);
	check_passed(far, BED_TYPE, ETH_QUERY);
	check_passed(far, BED_TYPE, ETH_ANSWER);
	check_passed(far, htons(0x0806), ETH_PACKET);
	close(far);
	close(process);
}

TAP_TEST(live__tc)
{
	if (!build_net())
		return;
	is_int(system("ip link set cable mtu 9000 && ip link set nic mtu 9000 &&"
		      "ip link set peps mtu 9000 && ip link set pepu mtu 9000"),
	       0);
	if (bed_open_at(&bed, RAIL, false, true) && attach_tc(nic, BED_NIC) &&
	    attach_tc(switch_end, BED_FROM_PORT))
		use_tc();
	bed_close(&bed);
}

/* ---- at XDP ---- */

TAP_TEST(live__generic_mode)
{
	run_live(XDP_FLAGS_SKB_MODE, false);
}

TAP_TEST(live__generic_mode_with_frags)
{
	run_live(XDP_FLAGS_SKB_MODE, true);
}

TAP_TEST(live__native_mode)
{
	run_live(XDP_FLAGS_DRV_MODE, false);
}

TAP_TEST(live__native_mode_with_frags)
{
	run_live(XDP_FLAGS_DRV_MODE, true);
}
