// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/opening.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "pm-verbs/hw/discover.h"
#include "pmcore/util/siphash.h"

/* The highest bit of a Q_Key says that root alone may use it. */
#define Q_KEY_BITS 0x7fffffffu

const struct verbs *pmv_load(char *why, size_t why_size)
{
	char text[VERBS_WHY] = PMV_NO_DEVICE;
	const struct verbs *v = verbs_is_possible() ? verbs_library(text) : NULL;

	if (!v)
		snprintf(why, why_size, "%s", text);
	return v;
}

int pmv_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

int pmv_explain(const struct pmv_port *port, const char *what, char *why, size_t why_size)
{
	int err = errno ? errno : EIO;
	char text[128];

	snprintf(text, sizeof(text), "%s:%u: %s", port->device, port->number, what);
	/* memory that may not be locked is ENOMEM */
	if (err == EAGAIN) {
		snprintf(why, why_size, "verbs: %s: " PMV_NO_MORE, text);
		return -EPERM;
	}
	if (err == ENOMEM) {
		struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

		getrlimit(RLIMIT_MEMLOCK, &limit);
		pmv_port_explain_memlock(limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
									 : limit.rlim_cur,
					 text, why, why_size);
		return -EPERM;
	}
	snprintf(why, why_size, "verbs: %s: %s", text, strerror(err));
	return -ENODEV;
}

uint32_t pmv_q_key(uint64_t job_key, enum pmv_datagrams of)
{
	const uint32_t label = htole32(of);

	return (uint32_t)siphash(job_key, ~job_key, &label, sizeof(label)) & Q_KEY_BITS;
}

void pmv_path(const struct pmv_port *port, int gid, const struct pmv_end *end,
	      struct ibv_ah_attr *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->port_num = port->number;
	ret->dlid = end->lid;
	if (end->protocol == PMV_INFINIBAND)
		return;
	ret->is_global = 1;
	memcpy(ret->grh.dgid.raw, end->gid, sizeof(end->gid));
	ret->grh.sgid_index = (uint8_t)port->gids[gid].index;
	ret->grh.hop_limit = 64;
}
