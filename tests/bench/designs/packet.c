// SPDX-License-Identifier: BSD-3-Clause
/*
 * packet - raw frames by AF_PACKET with rings in memory that program and kernel share (TPACKET_V2).
 * The program writes frames into the ring and wakes the kernel by one sendto(); the kernel copies
 * each frame that comes into the other ring, where the program looks for it, or sleeps in poll().
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/bench/designs/design.h"
#include "tests/bench/designs/net.h"

#define FRAMES 1024u
#define FRAME_BYTES 2048u /* of a ring; so MTUs up to this */
#define BLOCK_BYTES 65536u
#define RING_BYTES ((size_t)FRAMES * FRAME_BYTES)
#define KICK 16 /* frames of one system call */

static int fd;
static unsigned char *rings; /* that of receiving, then that of sending */
static unsigned int in, out; /* next frames of both */
static struct ether_header head;
static size_t payload; /* bytes of a frame at most */

static struct tpacket2_hdr *received(unsigned int at)
{
	return (struct tpacket2_hdr *)(void *)(rings + (size_t)(at % FRAMES) * FRAME_BYTES);
}

static struct tpacket2_hdr *to_send(unsigned int at)
{
	return (struct tpacket2_hdr *)(void *)(rings + RING_BYTES +
					       (size_t)(at % FRAMES) * FRAME_BYTES);
}

static void open_rings(void)
{
	struct tpacket_req wanted = {.tp_block_size = BLOCK_BYTES,
				     .tp_block_nr = (unsigned int)(RING_BYTES / BLOCK_BYTES),
				     .tp_frame_size = FRAME_BYTES,
				     .tp_frame_nr = FRAMES};

	net_set(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2);
	net_set(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &wanted, sizeof(wanted)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &wanted, sizeof(wanted)))
		die("rings of AF_PACKET");
	rings = mmap(NULL, 2 * RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		     0);
	if (rings == MAP_FAILED)
		die("rings of AF_PACKET");
}

static void packet_open(struct end *end)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
				      .sll_protocol = htons(NET_ETHERTYPE),
				      .sll_ifindex = net_index(end->interface)};

	if (end->mtu + sizeof(head) + TPACKET2_HDRLEN > FRAME_BYTES)
		die_of(end->interface, "the MTU is larger than a frame of the ring; give 1500");
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("AF_PACKET (as root only)");
	open_rings();
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die(end->interface);
	net_head(end->interface, &head);
	payload = end->mtu;
}

static void kick(struct end *end)
{
	lap(end, STEP_BUILD);
	if (sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN && errno != ENOBUFS)
		die("send");
	lap(end, STEP_SEND);
}

/* The kernel gives a frame back when it is sent, which in a ping-pong is before the answer. */
static void fill_frame(const unsigned char *data, size_t bytes)
{
	struct tpacket2_hdr *frame = to_send(out);
	unsigned char *to = (unsigned char *)frame + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll);

	while (__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
		if (frame->tp_status & TP_STATUS_WRONG_FORMAT)
			die_of("frame", "refused by the kernel");
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), data, bytes);
	frame->tp_len = (unsigned int)(sizeof(head) + bytes);
	__atomic_store_n(&frame->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
	out++;
}

static void packet_send(struct end *end, const unsigned char *data, size_t bytes)
{
	unsigned int filled = 0;

	for (size_t done = 0; done < bytes;) {
		size_t n = bytes - done < payload ? bytes - done : payload;

		fill_frame(data + done, n);
		done += n;
		if (++filled % KICK == 0 || done == bytes)
			kick(end);
	}
}

static size_t packet_take(struct end *end, unsigned char *to, size_t room)
{
	struct tpacket2_hdr *frame = received(in);
	size_t n;

	if (!(__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return nothing(end);
	lap(end, STEP_WAIT);
	n = frame->tp_len - sizeof(head);
	if (n > room)
		die_of("frame", "longer than what is left of the message");
	memcpy(to, (unsigned char *)frame + frame->tp_mac + sizeof(head), n);
	__atomic_store_n(&frame->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	in++;
	lap(end, STEP_UNPACK);
	return n;
}

static size_t packet_sleep(struct end *end, unsigned char *to, size_t room)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	size_t n = packet_take(end, to, room);

	if (n == 0) {
		if (poll(&wanted, 1, -1) < 0)
			die("poll");
		lap(end, STEP_RECEIVE);
	}
	return n;
}

const struct design packet_block = {
	.name = "packet-block",
	.about = "raw frames by AF_PACKET rings; poll() sleeps until one is there",
	.is_blocking = true,
	.open = packet_open,
	.send = packet_send,
	.take = packet_sleep,
};

const struct design packet_poll = {
	.name = "packet-poll",
	.about = "raw frames by AF_PACKET rings; the program looks into the ring",
	.open = packet_open,
	.send = packet_send,
	.take = packet_take,
};
