// SPDX-License-Identifier: BSD-3-Clause
/* Ring sizes and flags; the kernel's rules stand beside the calls they concern. */
#include "pm-ethernet/daemon/sockets.h"

#include <errno.h>
#include <limits.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-ethernet/daemon/memory.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4) /* since Linux 6.6 */
#endif

static int set(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, option, value, len) ? -errno : 0;
}

static int set_ring(int fd, int option, uint32_t entries)
{
	int n = (int)entries;

	return set(fd, option, &n, sizeof(n));
}

int xsk_plain(const struct eth_granted *layout, bool with_umem_rings)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (with_umem_rings)
		err = set_ring(fd, XDP_UMEM_FILL_RING, layout->fill_entries);
	if (!err && with_umem_rings)
		err = set_ring(fd, XDP_UMEM_COMPLETION_RING, layout->completion_entries);
	if (!err)
		err = set_ring(fd, XDP_RX_RING, layout->rx_entries);
	if (!err)
		err = set_ring(fd, XDP_TX_RING, layout->tx_entries);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int xsk_scale_room(int fd, uint32_t n)
{
	int room;
	socklen_t len = sizeof(room);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &len))
		return -errno;
	/* The kernel tells twice what it was given. */
	room = (int)((uint32_t)room / 2 * n);
	return setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ? -errno : 0;
}

/* The kernel pins the pages at registration; our own mapping isn't needed after it. */
int xsk_register(int fd, int memory, const struct eth_granted *layout)
{
	struct xdp_umem_reg reg = {.len = layout->memory_bytes, .chunk_size = layout->chunk_bytes};
	void *at = mmap(NULL, layout->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	reg.addr = (uintptr_t)at;
	err = set(fd, XDP_UMEM_REG, &reg, sizeof(reg));
	munmap(at, layout->memory_bytes);
	return err == -EBUSY ? -EINVAL : err;
}

int xsk_fill(int fd, const struct eth_granted *layout, uint64_t first, uint32_t n)
{
	struct xdp_mmap_offsets at;
	socklen_t len = sizeof(at);
	size_t bytes;
	char *ring;
	uint64_t *entries;

	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &len))
		return -errno;
	bytes = at.fr.desc + (size_t)layout->fill_entries * sizeof(uint64_t);
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, XDP_UMEM_PGOFF_FILL_RING);
	if (ring == MAP_FAILED)
		return -errno;
	entries = (uint64_t *)(ring + at.fr.desc);
	for (uint32_t i = 0; i < n; i++)
		entries[i] = first + (uint64_t)i * layout->chunk_bytes;
	/* pairs with the kernel's acquire of the producer */
	atomic_store_explicit((_Atomic uint32_t *)(ring + at.fr.producer), n, memory_order_release);
	munmap(ring, bytes);
	return 0;
}

static int bind_queue(int fd, const struct sockaddr_xdp *address)
{
	return bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
}

int xsk_bind_owner(int fd, uint32_t ifindex, bool is_zero_copy, bool is_frags)
{
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_ifindex = ifindex};
	int flags = XDP_USE_NEED_WAKEUP | (is_zero_copy ? XDP_ZEROCOPY : XDP_COPY);

	if (is_frags)
		flags |= XDP_USE_SG;
	address.sxdp_flags = (uint16_t)flags;
	return bind_queue(fd, &address);
}

int xsk_bind_shared(int fd, uint32_t ifindex, int owner)
{
	/* Any further flag is refused; they are those of the owner. */
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP,
				       .sxdp_flags = XDP_SHARED_UMEM,
				       .sxdp_ifindex = ifindex,
				       .sxdp_shared_umem_fd = (uint32_t)owner};

	return bind_queue(fd, &address);
}

int xsk_tie(int fd, uint32_t ifindex)
{
	int n = (int)ifindex;

	return setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &n, sizeof(n)) ? -errno : 0;
}

bool xsk_is_tied_by_kernel(void)
{
	struct sockaddr_xdp nowhere = {.sxdp_family = AF_XDP, .sxdp_ifindex = INT_MAX};
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return true; /* the first context will be told why */
	err = xsk_tie(fd, if_nametoindex("lo"));
	/* the tie is looked at before the interface is */
	if (!err)
		err = bind_queue(fd, &nowhere);
	close(fd);
	return err == -EINVAL;
}

int xsk_probe(bool is_frags)
{
	const struct eth_granted layout = {.memory_bytes = 2 * 4096,
					   .chunk_bytes = 4096,
					   .fill_entries = 64,
					   .completion_entries = 64,
					   .rx_entries = 64,
					   .tx_entries = 64};
	int memory = ethd_memory_make("pm-ethernet-probe", layout.memory_bytes), fd, err;

	if (memory < 0)
		return memory;
	fd = xsk_plain(&layout, true);
	err = fd < 0 ? fd : xsk_register(fd, memory, &layout);
	if (!err)
		err = xsk_bind_owner(fd, if_nametoindex("lo"), false, is_frags);
	if (err == -EBUSY)
		err = -EAGAIN;
	if (!err)
		err = xsk_fill(fd, &layout, 0, 0);
	if (fd >= 0)
		close(fd);
	close(memory);
	return err;
}
