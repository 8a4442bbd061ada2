// SPDX-License-Identifier: BSD-3-Clause
/*
 * tracer - the recording interposer. Owns the pcapng file and its write buffer; changes nothing of
 * what passes. A full disk ends the recording, never the job: dump tells how many packets are
 * missing.
 */
#include "pmcore/device/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pmcore/device/through.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/stats.h"
#include "pmcore/wire/pm_wire.h"

#define BUFFER_BYTES (256u << 10)
#define SNAP_BYTES 65535u
#define ETHERNET_BYTES 14u
#define ETHERTYPE 0x88b5
#define LINKTYPE_ETHERNET 1

/* pcapng blocks, in the byte order of this host. */
enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_PACKET = 6 };
enum { OPTION_END = 0, OPTION_NAME = 2, OPTION_FLAGS = 2, OPTION_TSRESOL = 9 };
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
enum direction { INBOUND = 1, OUTBOUND = 2 };

struct section_block {
	uint32_t type, length, magic;
	uint16_t major, minor;
	uint32_t section_length[2]; /* all ones: unknown */
	uint32_t length_again;
};

struct interface_block {
	uint32_t type, length;
	uint16_t link_type, reserved;
	uint32_t snap;
	uint16_t name_code, name_length;
	char name[16];
	uint16_t resolution_code, resolution_length;
	uint8_t resolution[4]; /* 9: nanoseconds */
	uint32_t end;
	uint32_t length_again;
};

struct packet_block {
	uint32_t type, length, interface, time_high, time_low, captured, original;
};

/* The fields behind the padded packet bytes. */
struct packet_tail {
	uint16_t flags_code, flags_length;
	uint32_t flags; /* enum direction */
	uint32_t end;
	uint32_t length_again;
};

_Static_assert(sizeof(struct section_block) == 28, "pcapng layout");
_Static_assert(sizeof(struct interface_block) == 52, "pcapng layout");
_Static_assert(sizeof(struct packet_block) == 28, "pcapng layout");
_Static_assert(sizeof(struct packet_tail) == 16, "pcapng layout");

struct tracer_dev {
	struct through base;
	int fd;
	char path[320];
	uint8_t *buffer;
	uint32_t used;     /* bytes of buffer not written yet */
	uint64_t recorded; /* packets */
	uint64_t missing;  /* packets not recorded after a write failed */
	int error;         /* of the write that failed, errno value; 0 = none */
};

static struct tracer_dev *of(struct pm_dev *dev)
{
	return (struct tracer_dev *)dev;
}

/* ---- the file ---- */

static void flush(struct tracer_dev *t)
{
	uint32_t done = 0;

	while (done < t->used && !t->error) {
		ssize_t n = write(t->fd, t->buffer + done, t->used - done);

		if (n > 0)
			done += (uint32_t)n;
		else if (n < 0 && errno != EINTR)
			t->error = errno;
	}
	t->used = 0;
}

static void append(struct tracer_dev *t, const void *bytes, uint32_t len)
{
	memcpy(t->buffer + t->used, bytes, len);
	t->used += len;
}

static void write_headers(struct tracer_dev *t, const struct stats_rail *rails)
{
	struct section_block section = {
		.type = BLOCK_SECTION,
		.length = sizeof(section),
		.magic = BYTE_ORDER_MAGIC,
		.major = 1,
		.section_length = {UINT32_MAX, UINT32_MAX},
		.length_again = sizeof(section),
	};

	append(t, &section, sizeof(section));
	for (uint32_t r = 0; r < t->base.dev.n_rails; r++) {
		struct interface_block interface = {
			.type = BLOCK_INTERFACE,
			.length = sizeof(interface),
			.link_type = LINKTYPE_ETHERNET,
			.snap = SNAP_BYTES,
			.name_code = OPTION_NAME,
			.name_length = sizeof(interface.name),
			.resolution_code = OPTION_TSRESOL,
			.resolution_length = 1,
			.resolution = {9},
			.end = OPTION_END,
			.length_again = sizeof(interface),
		};

		/* an option of a fixed length: filled up with spaces */
		memset(interface.name, ' ', sizeof(interface.name));
		memcpy(interface.name, rails[r].name,
		       strnlen(rails[r].name, sizeof(interface.name)));
		append(t, &interface, sizeof(interface));
	}
	flush(t);
}

static uint32_t node_at(const uint8_t *packet, uint32_t len, size_t offset)
{
	uint32_t node;

	if (len < offset + sizeof(node))
		return 0;
	memcpy(&node, packet + offset, sizeof(node));
	return le32toh(node);
}

static void put_mac(uint8_t *at, uint32_t node)
{
	const uint8_t mac[6] = {2,
				0,
				(uint8_t)(node >> 24),
				(uint8_t)(node >> 16),
				(uint8_t)(node >> 8),
				(uint8_t)node};

	memcpy(at, mac, sizeof(mac));
}

static void put_ethernet(uint8_t *frame, const uint8_t *packet, uint32_t len)
{
	put_mac(frame, node_at(packet, len, offsetof(struct wire_header, dst)));
	put_mac(frame + 6, node_at(packet, len, offsetof(struct wire_header, src)));
	frame[12] = ETHERTYPE >> 8;
	frame[13] = ETHERTYPE & 255;
}

static void record(struct tracer_dev *t, uint32_t rail, enum direction direction,
		   const uint8_t *data, uint32_t len)
{
	static const uint8_t zeros[4];
	uint32_t original = ETHERNET_BYTES + len;
	uint32_t pad = -original & 3u;
	struct packet_block head = {
		.type = BLOCK_PACKET,
		.length = (uint32_t)(sizeof(head) + sizeof(struct packet_tail)) + original + pad,
		.interface = rail,
		.captured = original,
		.original = original,
	};
	struct packet_tail tail = {
		.flags_code = OPTION_FLAGS,
		.flags_length = 4,
		.flags = direction,
		.end = OPTION_END,
		.length_again = head.length,
	};
	uint8_t ethernet[ETHERNET_BYTES];
	struct timespec now;
	uint64_t ns;

	if (t->used + head.length > BUFFER_BYTES)
		flush(t);
	if (t->error || original > SNAP_BYTES + ETHERNET_BYTES) {
		t->missing++;
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	head.time_high = (uint32_t)(ns >> 32);
	head.time_low = (uint32_t)ns;
	put_ethernet(ethernet, data, len);
	append(t, &head, sizeof(head));
	append(t, ethernet, sizeof(ethernet));
	append(t, data, len);
	append(t, zeros, pad);
	append(t, &tail, sizeof(tail));
	t->recorded++;
}

/* ---- life ---- */

static void tracer_close(struct pm_dev *dev)
{
	struct tracer_dev *t = of(dev);

	if (t->fd >= 0) {
		flush(t);
		close(t->fd);
	}
	free(t->buffer);
	free(t);
}

static int tracer_open(const struct pm_device_env *env, struct pm_dev *lower,
		       struct pm_dev **ret_dev)
{
	struct tracer_dev *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->base.dev = *lower;
	t->base.dev.ops = &pm_tracer_ops;
	/* what is recorded lies in one piece */
	t->base.dev.can_gather = false;
	t->base.lower = lower;
	t->fd = -1;
	t->buffer = malloc(BUFFER_BYTES);
	if (!t->buffer) {
		tracer_close(&t->base.dev);
		return -ENOMEM;
	}
	snprintf(t->path, sizeof(t->path), "%s.%u.pcapng", env->conf->trace, env->self);
	/* no following of links that others may have put into /tmp; packets hold the job key */
	t->fd = open(t->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (t->fd < 0) {
		err = -errno;
		snprintf(env->why, env->why_size,
			 "trace: %s can't be written: %s; choose another path", t->path,
			 strerror(-err));
		tracer_close(&t->base.dev);
		return err;
	}
	write_headers(t, env->rails);
	*ret_dev = &t->base.dev;
	return 0;
}

/* ---- what is recorded ---- */

static int tracer_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
			  struct pm_packet *packet)
{
	struct tracer_dev *t = of(dev);
	int err = t->base.lower->ops->tx_post(t->base.lower, rail, peer, packet);

	if (!err)
		record(t, rail, OUTBOUND, packet->data, packet->len);
	return err;
}

static int tracer_rx_burst(struct pm_dev *dev, struct pm_rx *rx, int n)
{
	struct tracer_dev *t = of(dev);
	int got = t->base.lower->ops->rx_burst(t->base.lower, rx, n);

	for (int i = 0; i < got; i++)
		record(t, rx[i].rail, INBOUND, rx[i].data, rx[i].len);
	return got;
}

static int tracer_dump(struct pm_dev *dev, char *buf, size_t room)
{
	const struct tracer_dev *t = of(dev);

	return snprintf(buf, room, "tracer: %s, %llu packets recorded, %llu missing%s%s\n", t->path,
			(unsigned long long)t->recorded, (unsigned long long)t->missing,
			t->error ? ": " : "", t->error ? strerror(t->error) : "");
}

/* Its own only: the layers below are asked one by one. */
static uint64_t tracer_memory(struct pm_dev *dev)
{
	(void)dev;
	return sizeof(struct tracer_dev) + BUFFER_BYTES;
}

const struct pm_packet_ops pm_tracer_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_packet_ops),
	.name = "tracer",
	.open = tracer_open,
	.close = tracer_close,
	.address = through_address,
	.peer_add = through_peer_add,
	.peer_del = through_peer_del,
	.mtu = through_mtu,
	.tx_alloc = through_tx_alloc,
	.tx_alloc_bulk = through_tx_alloc_bulk,
	.tx_free = through_tx_free,
	.tx_post = tracer_tx_post,
	.tx_kick = through_tx_kick,
	.rx_burst = tracer_rx_burst,
	.rx_return = through_rx_return,
	.peer_event = through_peer_event,
	.rail_state = through_rail_state,
	.poll_fds = through_poll_fds,
	.arm = through_arm,
	.disarm = through_disarm,
	.suspend = through_suspend,
	.resume = through_resume,
	.dump = tracer_dump,
	.memory = tracer_memory,
};
