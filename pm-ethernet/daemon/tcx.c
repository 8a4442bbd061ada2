// SPDX-License-Identifier: BSD-3-Clause
/*
 * Interfaces of libbpf for programs of control groups do for this hook too: the kernel takes a
 * number for either.
 */
#include "pm-ethernet/daemon/tcx.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define INGRESS ((enum bpf_attach_type)46) /* BPF_TCX_INGRESS, since Linux 6.6 */
#define FIRST (1u << 3)                    /* BPF_F_BEFORE, of none in particular */
#ifndef BPF_F_REPLACE
#define BPF_F_REPLACE (1u << 2)
#endif
#define PROGRAMS_MAX 64 /* at one hook, as the kernel has it */

/* Programs at the hook of an interface, the first one first: how many, or -errno. */
static int query(uint32_t ifindex, uint32_t ret_ids[PROGRAMS_MAX])
{
	LIBBPF_OPTS(bpf_prog_query_opts, found, .prog_ids = ret_ids, .prog_cnt = PROGRAMS_MAX);
	int err = bpf_prog_query_opts((int)ifindex, INGRESS, &found);

	if (err == -ENOENT)
		return 0;
	return err ? err : (int)found.prog_cnt;
}

/*
 * Before 6.10 whoever could write the position of a ring's reader could make two records overlap,
 * and with them what the kernel itself keeps in the ring.
 */
bool tcx_is_usable(void)
{
	unsigned int major = 0, minor = 0;
	uint32_t ids[PROGRAMS_MAX];
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	if (major < 6 || (major == 6 && minor < 10))
		return false;
	return query(if_nametoindex("lo"), ids) >= 0;
}

static bool is_ours(int program)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(program, &info, &len) && !strncmp(info.name, "eth_", 4);
}

int tcx_open(uint32_t ifindex)
{
	uint32_t ids[PROGRAMS_MAX];
	int n = query(ifindex, ids);

	for (int i = 0; i < n; i++) {
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		if (fd >= 0 && is_ours(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

int tcx_attach(uint32_t ifindex, int program)
{
	LIBBPF_OPTS(bpf_prog_attach_opts, opts, .flags = FIRST);
	int old = tcx_open(ifindex), err;

	if (old >= 0) {
		opts.flags = BPF_F_REPLACE;
		opts.replace_prog_fd = old;
	}
	err = bpf_prog_attach_opts(program, (int)ifindex, INGRESS, &opts);
	if (old >= 0)
		close(old);
	return err;
}

int tcx_detach(uint32_t ifindex)
{
	int old = tcx_open(ifindex), err;

	if (old < 0)
		return 0;
	err = bpf_prog_detach2(old, (int)ifindex, INGRESS);
	close(old);
	return err;
}
