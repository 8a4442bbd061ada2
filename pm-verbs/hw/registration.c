// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/registration.h"

#include <errno.h>

int verbs_register(const struct verbs *v, struct ibv_pd *pd, void *addr, uint64_t len, int access,
		   struct pmv_registration *ret)
{
	struct ibv_mr *mr = v->reg_mr(pd, addr, len, access);

	/* the lock limit is told by either of these */
	if (!mr && (errno == EAGAIN || errno == ENOMEM))
		return -ENOMEM;
	if (!mr)
		return errno ? -errno : -EIO;
	ret->mr = mr;
	ret->lkey = mr->lkey;
	ret->rkey = mr->rkey;
	return 0;
}

int verbs_unregister(const struct verbs *v, struct pmv_registration *registration)
{
	int err = registration->mr ? v->dereg_mr(registration->mr) : 0;

	if (!err)
		registration->mr = NULL;
	return err < 0 ? err : -err;
}
