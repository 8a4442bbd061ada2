// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp - raw frames by AF_XDP in copy mode. The program writes frames into memory that it shares
 * with the kernel, and wakes it by sendto(). A BPF program at the interface (generic XDP) has the
 * kernel copy every frame that comes into that memory. The program looks into the ring of received
 * frames, or sleeps in poll(). It takes all frames of the interface, IP as well, until the process
 * ends.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/bench/designs/design.h"
#include "tests/bench/designs/net.h"

#define CHUNKS 2048u /* half of them for each direction */
#define CHUNK_BYTES 4096u
#define RING 1024u
#define KICK 16 /* frames of one system call */

struct ring {
	uint32_t *producer, *consumer, *flags;
	void *entries;
};

static int fd;
static unsigned char *memory;
static struct ring rx, tx, fill, completion;
static uint32_t rx_at, tx_at, fill_at, completed;
static struct ether_header head;
static size_t payload;

/* --- the BPF program -------------------------------------------------------------------------- */

static int bpf(int command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static int made_map(void)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_XSKMAP,
				     .key_size = sizeof(uint32_t),
				     .value_size = sizeof(uint32_t),
				     .max_entries = 1};
	int map = bpf(BPF_MAP_CREATE, &attributes);

	if (map < 0)
		die("BPF map for AF_XDP");
	return map;
}

/* return bpf_redirect_map(map, 0, XDP_PASS) */
static int loaded_program(int map)
{
	struct bpf_insn code[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_XDP,
				     .insns = (uintptr_t)code,
				     .insn_cnt = sizeof(code) / sizeof(code[0]),
				     .license = (uintptr_t) "BSD",
				     .expected_attach_type = BPF_XDP};
	int program = bpf(BPF_PROG_LOAD, &attributes);

	if (program < 0)
		die("BPF program for AF_XDP");
	return program;
}

/* The link goes with the process, and the program with the link. */
static void hand_frames_over(int interface)
{
	uint32_t queue = 0, number = (uint32_t)fd;
	int map = made_map();
	union bpf_attr update = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)&queue, .value = (uintptr_t)&number};
	union bpf_attr link = {.link_create = {.prog_fd = (uint32_t)loaded_program(map),
					       .target_ifindex = (uint32_t)interface,
					       .attach_type = BPF_XDP,
					       .flags = XDP_FLAGS_SKB_MODE}};

	if (bpf(BPF_MAP_UPDATE_ELEM, &update))
		die("AF_XDP socket into the BPF map");
	if (bpf(BPF_LINK_CREATE, &link) < 0)
		die("BPF program at the interface");
}

/*
 * --- memory and rings --------------------------------------------------------------------------
 */

static struct ring mapped(const struct xdp_ring_offset *at, size_t entry_bytes, off_t where)
{
	unsigned char *base = mmap(NULL, at->desc + RING * entry_bytes, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_POPULATE, fd, where);

	if (base == MAP_FAILED)
		die("rings of AF_XDP");
	return (struct ring){.producer = (uint32_t *)(void *)(base + at->producer),
			     .consumer = (uint32_t *)(void *)(base + at->consumer),
			     .flags = (uint32_t *)(void *)(base + at->flags),
			     .entries = base + at->desc};
}

static void open_rings(void)
{
	struct xdp_umem_reg registered = {.len = (uint64_t)CHUNKS * CHUNK_BYTES,
					  .chunk_size = CHUNK_BYTES};
	struct xdp_mmap_offsets at;
	socklen_t len = sizeof(at);

	memory = mmap(NULL, (size_t)CHUNKS * CHUNK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		die("memory for frames");
	registered.addr = (uintptr_t)memory;
	if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &registered, sizeof(registered)))
		die("memory of AF_XDP");
	net_set(fd, SOL_XDP, XDP_UMEM_FILL_RING, RING);
	net_set(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, RING);
	net_set(fd, SOL_XDP, XDP_RX_RING, RING);
	net_set(fd, SOL_XDP, XDP_TX_RING, RING);
	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &len))
		die("rings of AF_XDP");
	rx = mapped(&at.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
	tx = mapped(&at.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
	fill = mapped(&at.fr, sizeof(uint64_t), (off_t)XDP_UMEM_PGOFF_FILL_RING);
	completion = mapped(&at.cr, sizeof(uint64_t), (off_t)XDP_UMEM_PGOFF_COMPLETION_RING);
}

static void give_back(uint64_t chunk)
{
	((uint64_t *)fill.entries)[fill_at++ % RING] = chunk;
	__atomic_store_n(fill.producer, fill_at, __ATOMIC_RELEASE);
}

static void open_with(struct end *end, uint16_t flags)
{
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP,
				       .sxdp_flags = (uint16_t)(XDP_COPY | flags),
				       .sxdp_ifindex = (uint32_t)net_index(end->interface)};

	payload = end->mtu;
	if (payload + sizeof(head) > CHUNK_BYTES - 512)
		die_of(end->interface, "the MTU is larger than a chunk of memory; give 1500");
	fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("AF_XDP (as root only)");
	open_rings();
	for (uint64_t i = 0; i < CHUNKS / 2; i++)
		give_back(i * CHUNK_BYTES);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die(end->interface);
	hand_frames_over((int)address.sxdp_ifindex);
	net_head(end->interface, &head);
}

static void xdp_open(struct end *end)
{
	open_with(end, 0);
}

static void xdp_open_sleeping(struct end *end)
{
	open_with(end, XDP_USE_NEED_WAKEUP);
}

/* --- messages --------------------------------------------------------------------------------- */

static inline void kick(struct end *end)
{
	bool must = !end->design->is_blocking ||
		    __atomic_load_n(tx.flags, __ATOMIC_ACQUIRE) & XDP_RING_NEED_WAKEUP;

	__atomic_store_n(tx.producer, tx_at, __ATOMIC_RELEASE);
	lap(end, STEP_BUILD);
	if (must && sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
	    errno != EBUSY && errno != ENOBUFS)
		die("sendto");
	lap(end, STEP_SEND);
}

/* Chunks are sent in turn, so one is free when as many frames have left as there are others. */
static void fill_chunk(const unsigned char *data, size_t bytes)
{
	uint64_t chunk = (uint64_t)(CHUNKS / 2 + tx_at % RING) * CHUNK_BYTES;

	while (tx_at - completed >= RING) {
		completed = __atomic_load_n(completion.producer, __ATOMIC_ACQUIRE);
		__atomic_store_n(completion.consumer, completed, __ATOMIC_RELEASE);
	}
	memcpy(memory + chunk, &head, sizeof(head));
	memcpy(memory + chunk + sizeof(head), data, bytes);
	((struct xdp_desc *)tx.entries)[tx_at++ % RING] =
		(struct xdp_desc){.addr = chunk, .len = (uint32_t)(sizeof(head) + bytes)};
}

static void xdp_send(struct end *end, const unsigned char *data, size_t bytes)
{
	unsigned int filled = 0;

	for (size_t done = 0; done < bytes;) {
		size_t n = bytes - done < payload ? bytes - done : payload;

		fill_chunk(data + done, n);
		done += n;
		if (++filled % KICK == 0 || done == bytes)
			kick(end);
	}
	while (__atomic_load_n(tx.consumer, __ATOMIC_ACQUIRE) != tx_at)
		kick(end); /* the kernel was out of buffers for a moment */
}

static bool is_ours(const unsigned char *frame)
{
	return memcmp(frame + offsetof(struct ether_header, ether_type), &head.ether_type,
		      sizeof(head.ether_type)) == 0;
}

static size_t xdp_take(struct end *end, unsigned char *to, size_t room)
{
	const struct xdp_desc *desc = (struct xdp_desc *)rx.entries + rx_at % RING;
	size_t n = 0;

	if (__atomic_load_n(rx.producer, __ATOMIC_ACQUIRE) == rx_at)
		return nothing(end);
	lap(end, STEP_WAIT);
	if (is_ours(memory + desc->addr)) {
		n = desc->len - sizeof(head);
		if (n > room)
			die_of("frame", "longer than what is left of the message");
		memcpy(to, memory + desc->addr + sizeof(head), n);
	}
	give_back(desc->addr & ~(uint64_t)(CHUNK_BYTES - 1));
	__atomic_store_n(rx.consumer, ++rx_at, __ATOMIC_RELEASE);
	lap(end, STEP_UNPACK);
	return n;
}

static size_t xdp_sleep(struct end *end, unsigned char *to, size_t room)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	size_t n = xdp_take(end, to, room);

	if (n == 0) {
		if (poll(&wanted, 1, -1) < 0)
			die("poll");
		lap(end, STEP_RECEIVE);
	}
	return n;
}

const struct design xdp_block = {
	.name = "xdp-block",
	.about = "raw frames by AF_XDP, copy mode, need_wakeup; poll() sleeps until one is there",
	.is_blocking = true,
	.open = xdp_open_sleeping,
	.send = xdp_send,
	.take = xdp_sleep,
};

const struct design xdp_poll = {
	.name = "xdp-poll",
	.about = "raw frames by AF_XDP, copy mode; the program looks into the ring",
	.open = xdp_open,
	.send = xdp_send,
	.take = xdp_take,
};
