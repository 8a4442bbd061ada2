// SPDX-License-Identifier: BSD-3-Clause
/*
 * bed - see bed.h. Owns how programs are loaded and run and how their counters are compared; knows
 * no rule of the programs.
 */
#include "tests/unit/pm-ethernet/bpf/bed.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-ethernet/bpf/object.h"
#include "tests/harness/tap.h"

#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1U << 5)
#endif

#define CPUS_MAX 8192

static const char *const program_names[BED_PROGRAMS] = {"eth_nic", "eth_port", "eth_door"};

bool bed_put(int map, uint32_t key, const void *value)
{
	return is_int(bpf_map_update_elem(map, &key, value, BPF_ANY), 0);
}

bool bed_remove(int map, uint32_t key)
{
	return is_int(bpf_map_delete_elem(map, &key), 0);
}

bool bed_remove_nic(const struct bed *bed, uint32_t rail)
{
	struct eth_nic none = {0};

	return bed->is_tc ? bed_put(bed->nics, rail, &none) : bed_remove(bed->rails, rail);
}

void bed_come_from(struct bed *bed, uint32_t interface, uint32_t queue)
{
	bed->interface = interface;
	bed->queue = queue;
}

void bed_set_host(const struct bed *bed, uint16_t n_nics)
{
	struct eth_host host = {.id = BED_HOST, .type = BED_TYPE, .n_nics = n_nics};

	bed_put(bed->host, 0, &host);
}

void bed_set_context(const struct bed *bed, uint32_t number, uint64_t key, uint32_t attachment)
{
	struct eth_context context = {.key = key, .attachment = attachment};

	bed_put(bed->contexts, number, &context);
}

/* A socket with a receive ring: what a map of sockets takes. */
static int open_socket(void)
{
	int entries = 8, fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (okf(fd >= 0, "socket(AF_XDP): %s", strerror(errno)))
		is_int(setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)), 0);
	return fd;
}

/* A ring for a context that nothing was put into yet. */
static bool open_inbox(struct bed *bed, uint32_t context, struct bed_inbox *ret)
{
	const size_t page = 4096;
	uint8_t *at;

	ret->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bed_inbox", 0, 0, BED_INBOX_BYTES, NULL);
	if (!okf(ret->fd >= 0, "no ring: %s", strerror(errno)))
		return false;
	ret->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
	at = mmap(NULL, page + 2 * BED_INBOX_BYTES, PROT_READ, MAP_SHARED, ret->fd, (off_t)page);
	ret->producer = (uint64_t *)at;
	ret->bytes = at + page;
	ret->taken = 0;
	return ok(ret->consumer != MAP_FAILED && at != MAP_FAILED) &&
	       bed_put(bed->inboxes, context, &ret->fd);
}

static void close_inbox(const struct bed_inbox *inbox)
{
	if (inbox->fd < 0)
		return;
	munmap(inbox->consumer, 4096);
	munmap(inbox->producer, 4096 + 2 * BED_INBOX_BYTES);
	close(inbox->fd);
}

bool bed_look(const struct bed *bed, struct bed_inbox *inbox, struct bed_frame *ret_out)
{
	const struct eth_record *record = NULL;
	uint64_t end = __atomic_load_n(inbox->producer, __ATOMIC_ACQUIRE);

	while (inbox->taken < end) {
		uint8_t *at = inbox->bytes + (inbox->taken & (BED_INBOX_BYTES - 1));
		uint32_t length = *(uint32_t *)at;

		ok(!(length & (BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT)));
		is_int((length + BPF_RINGBUF_HDR_SZ) % 64, 0);
		record = (struct eth_record *)(at + BPF_RINGBUF_HDR_SZ);
		ok(record->length + sizeof(*record) <= length);
		inbox->taken += length + BPF_RINGBUF_HDR_SZ;
	}
	if (!record)
		return false;
	ret_out->length = record->length;
	memcpy(ret_out->bytes, record->frame, record->length);
	if (!bed->is_reader_asleep)
		__atomic_store_n(inbox->consumer, inbox->taken, __ATOMIC_RELEASE);
	return true;
}

static bool load(struct bed *bed, bool is_frags)
{
	const char *path = bed->is_tc ? eth_bpf_object_tc : eth_bpf_object;
	struct bpf_program *program;
	struct bpf_map *constants;
	int i;

	bed->object = bpf_object__open_file(path, NULL);
	if (!okf(bed->object != NULL, "%s: %s", path, strerror(errno)))
		return false;
	constants = bpf_object__find_map_by_name(bed->object, ".rodata");
	if (!ok(constants) ||
	    !is_int(bpf_map__set_initial_value(constants, &bed->rail, sizeof(bed->rail)), 0))
		return false;
	if (!is_int(bpf_map__set_max_entries(bpf_object__find_map_by_name(bed->object, "points"),
					     BED_POINTS),
		    0))
		return false;
	if (is_frags && !bed->is_tc)
		bpf_object__for_each_program(program, bed->object)
			bpf_program__set_flags(program, BPF_F_XDP_HAS_FRAGS);
	if (!is_int(bpf_object__load(bed->object), 0))
		return false;
	for (i = 0; i < BED_PROGRAMS && !(bed->is_tc && i == BED_DOOR); i++) {
		program = bpf_object__find_program_by_name(bed->object, program_names[i]);
		if (!ok(program))
			return false;
		bed->programs[i] = bpf_program__fd(program);
	}
	return true;
}

static bool find_maps(struct bed *bed)
{
	struct {
		const char *name;
		int *fd;
	} all[] = {
		{"host", &bed->host},         {"nics", &bed->nics},
		{"contexts", &bed->contexts}, {"sockets", &bed->sockets},
		{"doors", &bed->doors},       {"inboxes", &bed->inboxes},
		{"ports", &bed->ports},       {"rails", &bed->rails},
		{"grants", &bed->grants},     {"counters", &bed->counters},
		{"grid", &bed->grid},         {"points", &bed->points},
		{"pulses", &bed->pulses},     {"neighbours", &bed->neighbours},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*all[i].fd = bpf_object__find_map_fd_by_name(bed->object, all[i].name);
		if (!okf(*all[i].fd >= 0, "no map %s", all[i].name))
			return false;
	}
	return true;
}

static void fill(const struct bed *bed)
{
	struct eth_grant grant = {.key = BED_KEY, .context = BED_PORT};
	struct eth_nic nic = {.ifindex = bed->loopback, .mac = {2, 0, 0, 0, 0, 0}};
	uint32_t rail;

	bed_set_host(bed, BED_NICS);
	bed_set_context(bed, BED_DIRECT, BED_KEY, ETH_DIRECT);
	bed_set_context(bed, BED_PORT, BED_KEY, ETH_PORT);
	bed_set_context(bed, BED_DETACHED, BED_KEY, ETH_DETACHED);
	bed_set_context(bed, BED_ALIEN, BED_KEY + 1, ETH_PORT);
	bed_put(bed->sockets, BED_DIRECT * ETH_RAILS + bed->rail, &bed->socket);
	bed_put(bed->ports, BED_PORT, &bed->loopback);
	bed_put(bed->ports, BED_ALIEN, &bed->loopback);
	bed_put(bed->doors, BED_PORT, &bed->socket);
	bed_put(bed->grants, bed->loopback, &grant);
	for (rail = 0; rail < BED_NICS; rail++) {
		nic.mac[5] = 0x10 + rail;
		bed_put(bed->nics, rail, &nic);
		bed_put(bed->rails, rail, &bed->loopback);
	}
}

bool bed_open_at(struct bed *bed, uint32_t rail, bool is_frags, bool is_tc)
{
	memset(bed, 0, sizeof(*bed));
	bed->is_tc = is_tc;
	bed->direct.fd = bed->port.fd = -1;
	bed->rail = rail;
	bed->loopback = if_nametoindex("lo");
	bed->socket = open_socket();
	if (!ok(bed->loopback) || !load(bed, is_frags) || !find_maps(bed))
		return false;
	fill(bed);
	if (is_tc &&
	    (!open_inbox(bed, BED_DIRECT, &bed->direct) || !open_inbox(bed, BED_PORT, &bed->port)))
		return false;
	return !tap_has_failed();
}

void bed_close(struct bed *bed)
{
	bpf_object__close(bed->object);
	close_inbox(&bed->direct);
	close_inbox(&bed->port);
	if (bed->socket >= 0)
		close(bed->socket);
}

static void packet(struct bed_frame *ret, uint16_t body)
{
	uint32_t i;

	for (i = 0; i < sizeof(ret->bytes); i++)
		ret->bytes[i] = i * 7;
	ret->length = ETH_HEAD + ETH_PACKET_HEAD + body;
	ret->head.type = BED_TYPE;
	ret->head.version = ETH_VERSION;
	ret->head.kind = ETH_PACKET;
	ret->head.rail = 2;
	ret->head.in_rail = 0xee;
	ret->packet.length = body;
	ret->packet.key = BED_KEY;
}

void bed_packet_in(struct bed_frame *ret, uint16_t context, uint16_t body)
{
	packet(ret, body);
	ret->head.dst_host = BED_HOST;
	ret->head.dst_context = context;
	ret->head.src_host = BED_FAR_HOST;
	ret->head.src_context = 3;
}

void bed_packet_out(struct bed_frame *ret, uint16_t body)
{
	packet(ret, body);
	ret->head.dst_host = BED_FAR_HOST;
	ret->head.dst_context = 3;
	ret->head.src_host = BED_HOST;
	ret->head.src_context = BED_PORT;
}

/* A verdict of tc by the name of XDP's; @out becomes the frame in the inbox if there is one. */
static int translate(struct bed *bed, int verdict, struct bed_frame *out)
{
	bool is_taken = bed_look(bed, &bed->direct, out);

	is_taken |= bed_look(bed, &bed->port, out);
	switch (verdict) {
	case TC_ACT_SHOT:
		return is_taken ? XDP_REDIRECT : XDP_DROP;
	case TC_ACT_REDIRECT:
		return is_taken ? -EPROTO : XDP_REDIRECT;
	case TC_ACT_UNSPEC:
		return is_taken ? -EPROTO : XDP_PASS;
	default:
		return -EPROTO;
	}
}

int bed_time(struct bed *bed, enum bed_program program, const struct bed_frame *in, uint32_t repeat,
	     struct bed_frame *ret_out, uint32_t *ret_ns)
{
	static struct bed_frame out;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in->bytes, .data_size_in = in->length,
		    .data_out = out.bytes, .data_size_out = sizeof(out.bytes),
		    .repeat = (int)repeat);
	struct xdp_md from = {.data_end = in->length,
			      .ingress_ifindex = bed->interface,
			      .rx_queue_index = bed->queue};
	int r;

	if (bed->interface && !bed->is_tc) {
		run.ctx_in = &from;
		run.ctx_size_in = sizeof(from);
	}
	r = bpf_prog_test_run_opts(bed->programs[program], &run);
	if (r < 0)
		return r;
	out.length = run.data_size_out;
	r = bed->is_tc ? translate(bed, (int)run.retval, &out) : (int)run.retval;
	*ret_out = out;
	*ret_ns = run.duration;
	return r;
}

int bed_run(struct bed *bed, enum bed_program program, const struct bed_frame *in,
	    struct bed_frame *ret_out)
{
	uint32_t ns;

	return bed_time(bed, program, in, 1, ret_out, &ns);
}

void bed_count(const struct bed *bed, uint32_t row, struct eth_counters *ret)
{
	static struct eth_counters each[CPUS_MAX];
	int cpus = libbpf_num_possible_cpus(), cpu;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (!ok(cpus <= CPUS_MAX) || !is_int(bpf_map_lookup_elem(bed->counters, &row, each), 0))
		return;
	for (cpu = 0; cpu < cpus; cpu++)
		for (i = 0; i < sizeof(*ret) / sizeof(uint64_t); i++)
			((uint64_t *)ret)[i] += ((uint64_t *)&each[cpu])[i];
}

static void read_table(const struct bed *bed, struct bed_table *ret)
{
	uint32_t row;

	for (row = 0; row < ETH_COUNTERS; row++)
		bed_count(bed, row, &ret->rows[row]);
}

static struct eth_counters *row_of(struct bed_table *table, const struct bed *bed,
				   enum bed_program program)
{
	return &table->rows[program == BED_NIC ? bed->rail : ETH_RAILS];
}

/* One run, and what all counters must be behind it. */
static void expect(struct bed *bed, enum bed_program program, const struct bed_frame *frame,
		   int verdict, const struct bed_table *want, struct bed_frame *ret_out)
{
	struct bed_table got;

	is_int(bed_run(bed, program, frame, ret_out), verdict);
	read_table(bed, &got);
	is_mem(&got, want, sizeof(got));
	is_int(ret_out->length, frame->length);
}

void bed_drops(struct bed *bed, enum bed_program program, const struct bed_frame *frame,
	       enum eth_drop reason)
{
	static struct bed_frame out;
	struct bed_table want;

	read_table(bed, &want);
	row_of(&want, bed, program)->drops[reason]++;
	expect(bed, program, frame, XDP_DROP, &want, &out);
}

void bed_redirects(struct bed *bed, enum bed_program program, const struct bed_frame *frame,
		   bool is_taken, struct bed_frame *ret_out)
{
	struct bed_table want;

	read_table(bed, &want);
	if (is_taken) {
		row_of(&want, bed, program)->rx_frames++;
		row_of(&want, bed, program)->rx_bytes += frame->length;
	}
	expect(bed, program, frame, XDP_REDIRECT, &want, ret_out);
}

void bed_passes(struct bed *bed, const struct bed_frame *frame, bool is_control)
{
	static struct bed_frame out;
	struct bed_table want;

	read_table(bed, &want);
	row_of(&want, bed, BED_NIC)->control += is_control;
	expect(bed, BED_NIC, frame, XDP_PASS, &want, &out);
	is_mem(out.bytes, frame->bytes, frame->length);
}

void bed_does(struct bed *bed, enum bed_program program, const struct bed_frame *frame, int verdict,
	      const struct eth_counters *change, struct bed_frame *ret_out)
{
	struct bed_table want;
	uint64_t *row;

	read_table(bed, &want);
	row = (uint64_t *)row_of(&want, bed, program);
	for (size_t i = 0; i < sizeof(*change) / sizeof(uint64_t); i++)
		row[i] += ((const uint64_t *)change)[i];
	expect(bed, program, frame, verdict, &want, ret_out);
}

struct eth_point bed_point(const struct eth_grid *grid, uint32_t host_id)
{
	struct eth_point point = {.is_known = 1};
	uint32_t place = host_id - 1, d;

	for (d = grid->n_dims; d-- > 0; place /= grid->dims[d])
		point.at[d] = place % grid->dims[d];
	return point;
}

struct eth_neighbour bed_neighbour(uint32_t rail, uint32_t at, bool is_open)
{
	return (struct eth_neighbour){.mac = {0x0a, 0, 0, rail, at >> 8, at}, .is_open = is_open};
}

void bed_set_neighbour(const struct bed *bed, uint32_t rail, uint32_t at, bool is_open)
{
	struct eth_neighbour neighbour = bed_neighbour(rail, at, is_open);

	bed_put(bed->neighbours, rail * ETH_LINE_MAX + at, &neighbour);
}

static void add_rail(const struct bed *bed, struct eth_grid *grid, uint32_t rail)
{
	struct eth_nic nic = {.ifindex = bed->loopback, .mac = {2, 0, 0, 0, 0, 0x10 + rail}};
	uint32_t dim = rail % grid->n_dims, at;

	grid->dim[rail] = dim;
	grid->lane[rail] = grid->n_lanes[dim];
	grid->rail[dim][grid->n_lanes[dim]++] = rail;
	bed_put(bed->nics, rail, &nic);
	bed_put(bed->rails, rail, &bed->loopback);
	for (at = 0; at < grid->dims[dim]; at++)
		bed_set_neighbour(bed, rail, at, true);
}

void bed_set_grid(const struct bed *bed, const uint16_t *dims, uint32_t n_dims, uint32_t n_rails,
		  struct eth_grid *ret)
{
	struct eth_grid grid = {.n_dims = n_dims, .n_points = 1};
	struct eth_point point;
	uint32_t i;

	for (i = 0; i < n_dims; i++) {
		grid.dims[i] = dims[i];
		grid.n_points *= dims[i];
	}
	ok(grid.n_points <= BED_POINTS);
	for (i = 0; i < grid.n_points; i++) {
		point = bed_point(&grid, i + 1);
		bed_put(bed->points, i, &point);
	}
	grid.own = bed_point(&grid, BED_HOST);
	for (i = 0; i < n_rails; i++)
		add_rail(bed, &grid, i);
	bed_set_host(bed, n_rails);
	bed_put(bed->grid, 0, &grid);
	*ret = grid;
}
