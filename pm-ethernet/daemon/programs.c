// SPDX-License-Identifier: BSD-3-Clause
/* libbpf's objects live only while they are loaded; what stays is descriptors and pins. */
#include "pm-ethernet/daemon/programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pm-ethernet/bpf/object.h"
#include "pm-ethernet/daemon/grid.h"
#include "pm-ethernet/daemon/tcx.h"

#ifndef BPF_FS_MAGIC
#define BPF_FS_MAGIC 0xcafe4a11
#endif
#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1U << 5) /* since Linux 5.18 */
#endif

static const struct {
	const char *name;
	size_t at; /* of its descriptor in struct ethd_maps */
} maps[] = {
	{"host", offsetof(struct ethd_maps, host)},
	{"nics", offsetof(struct ethd_maps, nics)},
	{"contexts", offsetof(struct ethd_maps, contexts)},
	{"sockets", offsetof(struct ethd_maps, sockets)},
	{"doors", offsetof(struct ethd_maps, doors)},
	{"inboxes", offsetof(struct ethd_maps, inboxes)},
	{"ports", offsetof(struct ethd_maps, ports)},
	{"rails", offsetof(struct ethd_maps, rails)},
	{"grants", offsetof(struct ethd_maps, grants)},
	{"counters", offsetof(struct ethd_maps, counters)},
	{"grid", offsetof(struct ethd_maps, grid)},
	{"points", offsetof(struct ethd_maps, points)},
	{"neighbours", offsetof(struct ethd_maps, neighbours)},
	{"pulses", offsetof(struct ethd_maps, pulses)},
};

#define N_MAPS (sizeof(maps) / sizeof(maps[0]))

static int *map_place(struct ethd *d, size_t i)
{
	return (int *)((char *)&d->maps + maps[i].at);
}

static void pin_path(const struct ethd *d, const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s/bpf/%s", d->options.run, name);
}

int ethd_programs_mount(struct ethd *d, char *why, size_t why_size)
{
	struct statfs fs;
	char path[PATH_MAX];
	int err;

	pin_path(d, "", path, sizeof(path));
	if ((mkdir(path, 0700) && errno != EEXIST) || statfs(path, &fs)) {
		err = -errno;
		snprintf(why, why_size, "directory %s: %s; choose another with --run", path,
			 strerror(-err));
		return err;
	}
	if ((uint32_t)fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (!mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return 0;
	err = -errno;
	snprintf(why, why_size,
		 "bpffs can't be mounted at %s: %s; run as root, on a kernel with BPF", path,
		 strerror(-err));
	return err;
}

void ethd_programs_unpin(struct ethd *d)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < N_MAPS; i++) {
		int *fd = map_place(d, i);

		pin_path(d, maps[i].name, path, sizeof(path));
		if (unlink(path) && errno != ENOENT)
			ethd_say("pin %s stays: %m", path);
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
}

/* Writes the constant nic_rail of an object that isn't loaded yet. */
static int set_rail(struct bpf_object *object, uint32_t rail)
{
	struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");
	struct btf *btf = bpf_object__btf(object);
	const struct btf_type *section;
	int id = btf ? btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC) : -ENOENT;
	size_t size = 0;
	const void *initial = constants ? bpf_map__initial_value(constants, &size) : NULL;
	char data[1024];

	if (!initial || id < 0 || size > sizeof(data))
		return -ENOENT;
	memcpy(data, initial, size);
	section = btf__type_by_id(btf, (uint32_t)id);
	for (int i = 0; i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *var = btf_var_secinfos(section) + i;
		const struct btf_type *type = btf__type_by_id(btf, var->type);

		if (strcmp(btf__name_by_offset(btf, type->name_off), "nic_rail"))
			continue;
		if (var->size != sizeof(rail) || var->offset + sizeof(rail) > size)
			return -EINVAL;
		memcpy(data + var->offset, &rail, sizeof(rail));
		return bpf_map__set_initial_value(constants, data, size);
	}
	return -ENOENT;
}

static bool is_same(const struct bpf_map *map, int fd)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map);
}

/*
 * Makes the object use a map that exists: open already, or pinned by a daemon before us. libbpf's
 * own handling of pins refuses device maps, whose flags the kernel completes.
 */
static int reuse_map(struct ethd *d, struct bpf_object *object, size_t i)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, maps[i].name);
	int *fd = map_place(d, i);
	char path[PATH_MAX];

	if (!map)
		return -ENOENT;
	if (*fd < 0) {
		pin_path(d, maps[i].name, path, sizeof(path));
		*fd = bpf_obj_get(path);
	}
	if (*fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return is_same(map, *fd) ? bpf_map__reuse_fd(map, *fd) : -EEXIST;
}

/* Those of XDP and those of tc have the same maps. */
static const char *object_of(const struct ethd *d)
{
	return d->mode == ETHD_MODE_TC ? eth_bpf_object_tc : eth_bpf_object;
}

/* Only the programs wanted now are loaded; those of ports or the one of a NIC. */
static int prepare(struct ethd *d, struct bpf_object *object, bool is_nic)
{
	struct bpf_map *points = bpf_object__find_map_by_name(object, "points");
	uint32_t n_points = d->options.grid.n_points;
	struct bpf_program *program;
	int err = points ? bpf_map__set_max_entries(points, n_points ? n_points : 1) : -ENOENT;

	bpf_object__for_each_program(program, object) {
		bool is_nics = !strcmp(bpf_program__name(program), "eth_nic");

		bpf_program__set_autoload(program, is_nics == is_nic);
		if (d->mode == ETHD_MODE_TC)
			continue;
		bpf_program__set_type(program, BPF_PROG_TYPE_XDP);
		if (d->is_frags)
			bpf_program__set_flags(program,
					       bpf_program__flags(program) | BPF_F_XDP_HAS_FRAGS);
	}
	for (size_t i = 0; i < N_MAPS && !err; i++)
		err = reuse_map(d, object, i);
	return err;
}

int ethd_programs_fit(struct ethd *d)
{
	struct bpf_object *object = bpf_object__open_file(object_of(d), NULL);
	int err = object ? prepare(d, object, true) : -errno;

	bpf_object__close(object);
	return err;
}

static const char *remedy(int err)
{
	switch (err) {
	case -EPERM:
		return geteuid() ? "run as root"
				 : "bpf(2) is refused to root, as in a container: start the "
				   "container with that right, or the daemon on its host";
	case -ENOENT:
		return "install or build them again";
	case -EEXIST:
		return "the maps in the run directory are of another version: end the jobs, "
		       "remove the directory and start again";
	default:
		return "they need Linux 6.1 or later, with BPF and AF_XDP";
	}
}

static int load(struct ethd *d, int rail, struct bpf_object **ret, char *why, size_t why_size)
{
	struct bpf_object *object = bpf_object__open_file(object_of(d), NULL);
	int err = object ? 0 : -errno;

	if (!err)
		err = prepare(d, object, rail >= 0);
	if (!err && rail >= 0)
		err = set_rail(object, (uint32_t)rail);
	if (!err)
		err = bpf_object__load(object);
	if (!err) {
		*ret = object;
		return 0;
	}
	snprintf(why, why_size, "kernel programs %s can't be loaded: %s; %s", object_of(d),
		 strerror(-err), remedy(err));
	bpf_object__close(object);
	return err;
}

static int take_program(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	int fd = program ? fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0) : -1;

	return fd < 0 ? -ENOENT : fd;
}

static int take_maps(struct ethd *d, struct bpf_object *object)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < N_MAPS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, maps[i].name);
		int *fd = map_place(d, i);

		if (*fd >= 0)
			continue;
		pin_path(d, maps[i].name, path, sizeof(path));
		*fd = fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 0);
		if (*fd < 0 || bpf_obj_pin(*fd, path))
			return -errno;
	}
	return 0;
}

/* Takes the maps that a program uses, where we have no pin of them. */
static int take_maps_of(struct ethd *d, int program)
{
	struct bpf_prog_info info = {0};
	struct bpf_map_info map;
	uint32_t ids[64], len = sizeof(info);
	int err, fd;

	info.nr_map_ids = sizeof(ids) / sizeof(ids[0]);
	info.map_ids = (uintptr_t)ids;
	err = bpf_obj_get_info_by_fd(program, &info, &len);
	for (uint32_t i = 0; i < info.nr_map_ids && !err; i++) {
		fd = bpf_map_get_fd_by_id(ids[i]);
		len = sizeof(map);
		memset(&map, 0, sizeof(map));
		if (fd < 0)
			return fd;
		err = bpf_obj_get_info_by_fd(fd, &map, &len);
		for (size_t m = 0; m < N_MAPS && !err && fd >= 0; m++)
			if (!strcmp(map.name, maps[m].name) && *map_place(d, m) < 0) {
				*map_place(d, m) = fd;
				fd = -1;
			}
		if (fd >= 0)
			close(fd);
	}
	return err;
}

static uint32_t mode_flag(const struct ethd *d)
{
	return d->mode == ETHD_MODE_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
}

/*
 * A program that sits at XDP of an interface already: its descriptor if it is ours, -ENOENT, or
 * -EBUSY.
 */
static int open_present(uint32_t ifindex, uint32_t *ret_flag, uint32_t *ret_id)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, found);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd, err = bpf_xdp_query((int)ifindex, 0, &found);

	if (err)
		return err;
	if (!found.prog_id)
		return -ENOENT;
	*ret_id = found.prog_id;
	if (found.attach_mode != XDP_ATTACHED_DRV && found.attach_mode != XDP_ATTACHED_SKB)
		return -EBUSY;
	*ret_flag = found.attach_mode == XDP_ATTACHED_DRV ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	fd = bpf_prog_get_fd_by_id(found.prog_id);
	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (!err && !strncmp(info.name, "eth_", 4))
		return fd;
	close(fd);
	return err ? err : -EBUSY;
}

static int attach_xdp(struct ethd *d, uint32_t ifindex, int program, uint32_t *ret_id)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	uint32_t flag = 0;
	int old = open_present(ifindex, &flag, ret_id), err;

	if (old < 0 && old != -ENOENT)
		return old;
	if (old < 0)
		return bpf_xdp_attach((int)ifindex, program,
				      mode_flag(d) | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	opts.old_prog_fd = old;
	if (flag == mode_flag(d)) {
		err = bpf_xdp_attach((int)ifindex, program, flag | XDP_FLAGS_REPLACE, &opts);
	} else {
		err = bpf_xdp_detach((int)ifindex, flag, &opts);
		if (!err)
			err = bpf_xdp_attach((int)ifindex, program,
					     mode_flag(d) | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	}
	close(old);
	return err;
}

static int detach_xdp(uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	uint32_t flag, id;
	int old = open_present(ifindex, &flag, &id), err;

	if (old < 0)
		return 0;
	opts.old_prog_fd = old;
	err = bpf_xdp_detach((int)ifindex, flag, &opts);
	close(old);
	return err;
}

/* In place of whatever of ours is there. -EBUSY: somebody else's program is, *ret_id. */
static int attach(struct ethd *d, uint32_t ifindex, int program, uint32_t *ret_id)
{
	int err = d->mode == ETHD_MODE_TC ? detach_xdp(ifindex) : tcx_detach(ifindex);

	if (err)
		return err;
	return d->mode == ETHD_MODE_TC ? tcx_attach(ifindex, program)
				       : attach_xdp(d, ifindex, program, ret_id);
}

/* The same of whatever program of ours an interface has; none is fine. */
static int take_maps_on(struct ethd *d, uint32_t ifindex)
{
	uint32_t flag, id;
	int program = ifindex ? tcx_open(ifindex) : -ENOENT, err;

	if (ifindex && program < 0)
		program = open_present(ifindex, &flag, &id);
	if (program < 0)
		return program == -ENOENT || program == -EBUSY ? 0 : program;
	err = take_maps_of(d, program);
	close(program);
	return err;
}

int ethd_programs_adopt(struct ethd *d)
{
	char path[PATH_MAX], name[ETH_NAME];
	int err = 0;

	pin_path(d, "contexts", path, sizeof(path));
	if (!access(path, F_OK))
		return 0;
	for (uint32_t r = 0; r < d->n_rails && !err; r++)
		err = take_maps_on(d, d->rails[r].ifindex);
	for (uint32_t n = 0; n < ETH_CONTEXTS && !err; n++) {
		if (!d->ports[n].context)
			continue;
		snprintf(name, sizeof(name), "peps%u", n);
		err = take_maps_on(d, if_nametoindex(name));
		snprintf(name, sizeof(name), "pepu%u", n);
		if (!err)
			err = take_maps_on(d, if_nametoindex(name));
	}
	for (size_t i = 0; i < N_MAPS && !err; i++) {
		pin_path(d, maps[i].name, path, sizeof(path));
		if (*map_place(d, i) >= 0 && bpf_obj_pin(*map_place(d, i), path))
			err = -errno;
	}
	return err;
}

int ethd_program_port(struct ethd *d, uint32_t ifindex, int program)
{
	uint32_t id;

	return attach(d, ifindex, program, &id);
}

int ethd_program_nic(struct ethd *d, uint32_t rail, char *why, size_t why_size)
{
	struct ethd_rail *nic = &d->rails[rail];
	struct bpf_object *object;
	uint32_t id = 0;
	int program, err = load(d, (int)rail, &object, why, why_size);

	if (err)
		return err;
	program = take_program(object, "eth_nic");
	bpf_object__close(object);
	if (program < 0)
		return program;
	err = attach(d, nic->ifindex, program, &id);
	close(program);
	nic->is_programmed = !err;
	if (err == -EBUSY)
		snprintf(why, why_size,
			 "%s has an XDP program of somebody else (id %u); remove it with 'ip link "
			 "set dev %s xdp off'",
			 nic->name, id, nic->name);
	else if (err)
		snprintf(why, why_size, "%s takes no program in %s mode: %s; %s", nic->name,
			 ethd_mode_name(d->mode), strerror(-err),
			 d->mode == ETHD_MODE_GENERIC ? "name another NIC in --nics"
						      : "use --mode generic");
	return err;
}

void ethd_program_drop(uint32_t ifindex)
{
	char name[IF_NAMESIZE] = "?";

	if (!ifindex)
		return;
	if (detach_xdp(ifindex))
		ethd_say("the program on %s stays; remove it with 'ip link set dev %s xdp off'",
			 if_indextoname(ifindex, name) ? name : "?", name);
	if (tcx_detach(ifindex))
		ethd_say("the program on %s stays; remove it with 'bpftool net detach tcx_ingress "
			 "dev %s'",
			 if_indextoname(ifindex, name) ? name : "?", name);
}

static void drop_all(struct ethd *d)
{
	for (uint32_t r = 0; r < d->n_rails; r++) {
		ethd_program_drop(d->rails[r].ifindex);
		d->rails[r].is_programmed = false;
	}
}

static int program_nics(struct ethd *d, char *why, size_t why_size)
{
	int err = 0;

	for (uint32_t r = 0; r < d->n_rails && !err; r++)
		if (d->rails[r].ifindex)
			err = ethd_program_nic(d, r, why, why_size);
	return err;
}

/*
 * Where the driver has no part in it: XDP there has each segmented packet of UDP and TCP copied
 * first.
 */
/* Several NICs fill less evenly through the one ring of mode tc: it is for those who ask for it. */
static enum ethd_mode mode_of_kernel(const struct ethd *d)
{
	return d->n_rails == 1 && tcx_is_usable() ? ETHD_MODE_TC : ETHD_MODE_GENERIC;
}

/* Native programs are no gain on veth and of unknown worth where the driver has no name. */
static enum ethd_mode wanted_mode(const struct ethd *d)
{
	if (d->options.mode != ETHD_MODE_AUTO)
		return d->options.mode;
	for (uint32_t r = 0; r < d->n_rails; r++)
		if (!d->rails[r].driver[0] || !strcmp(d->rails[r].driver, "veth"))
			return mode_of_kernel(d);
	return ETHD_MODE_NATIVE;
}

/* The programs of ports; at tc there is none for the user end, where nothing comes. */
static int take_port_programs(struct ethd *d, struct bpf_object *object)
{
	bool has_door = d->mode != ETHD_MODE_TC;

	if (d->port_program >= 0)
		close(d->port_program);
	if (d->door_program >= 0)
		close(d->door_program);
	d->port_program = take_program(object, "eth_port");
	d->door_program = has_door ? take_program(object, "eth_door") : -1;
	return d->port_program < 0 || (has_door && d->door_program < 0) ? -ENOENT : 0;
}

/* The mode is chosen: maps, and programs of ports and NICs. */
static int open_mode(struct ethd *d, char *why, size_t why_size)
{
	struct eth_host host = {.id = d->host,
				.type = __builtin_bswap16(d->options.type),
				.n_nics = (uint16_t)d->n_rails};
	uint32_t zero = 0;
	struct bpf_object *object;
	int err = load(d, -1, &object, why, why_size);

	if (err)
		return err;
	err = take_maps(d, object);
	if (!err)
		err = take_port_programs(d, object);
	bpf_object__close(object);
	if (!err)
		err = bpf_map_update_elem(d->maps.host, &zero, &host, BPF_ANY);
	if (!err && !d->grid)
		err = ethd_grid_open(d);
	if (!err)
		return program_nics(d, why, why_size);
	snprintf(why, why_size, "%s is not what this daemon needs: %s; install it again",
		 object_of(d), strerror(-err));
	return err;
}

int ethd_programs_open(struct ethd *d, bool is_mode_fixed, char *why, size_t why_size)
{
	int err;

	if (!is_mode_fixed)
		d->mode = wanted_mode(d);
	if (d->mode == ETHD_MODE_TC && !tcx_is_usable()) {
		snprintf(why, why_size,
			 "--mode tc needs Linux 6.10 or later; use --mode generic on this kernel");
		return -EOPNOTSUPP;
	}
	err = open_mode(d, why, why_size);
	if (!err || d->mode != ETHD_MODE_NATIVE || is_mode_fixed ||
	    d->options.mode == ETHD_MODE_NATIVE)
		return err;
	drop_all(d);
	d->mode = mode_of_kernel(d);
	return open_mode(d, why, why_size);
}

void ethd_programs_remove(struct ethd *d)
{
	char path[PATH_MAX];

	drop_all(d);
	ethd_programs_unpin(d);
	pin_path(d, "", path, sizeof(path));
	if (umount2(path, MNT_DETACH) && errno != EINVAL)
		ethd_say("bpffs at %s stays: %m", path);
	rmdir(path);
}
