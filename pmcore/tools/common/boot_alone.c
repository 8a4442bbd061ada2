// SPDX-License-Identifier: BSD-3-Clause
/* boot_alone - a job of one node; and the random key that every way needs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "pm.h"
#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/message.h"

struct alone {
	struct boot boot;
	uint8_t addr[PM_ADDRESS_MAX]; /* our own */
	size_t len;                   /* of it; 0 = not published */
};

int boot_random(uint64_t *ret_value)
{
	if (getrandom(ret_value, sizeof(*ret_value), 0) == (ssize_t)sizeof(*ret_value))
		return 0;
	message_error("getrandom: %s", strerror(errno));
	return -EIO;
}

static int publish(struct boot *boot, const void *addr, size_t len)
{
	struct alone *alone = (struct alone *)boot;

	memcpy(alone->addr, addr, len);
	alone->len = len;
	return 0;
}

static int lookup(struct boot *boot, uint32_t node, const void **ret_addr, size_t *ret_len)
{
	struct alone *alone = (struct alone *)boot;

	if (node != boot->self)
		return -EHOSTUNREACH;
	if (!alone->len)
		return -EAGAIN;
	*ret_addr = alone->addr;
	*ret_len = alone->len;
	return 0;
}

static int barrier(struct boot *boot)
{
	return 0;
}

static bool is_gone(struct boot *boot, uint32_t node)
{
	return false;
}

static void close_alone(struct boot *boot, bool is_clean)
{
	free(boot);
}

static const struct boot_ops ops = {publish, lookup, barrier, is_gone, close_alone};

int boot_alone_open(struct boot **ret_boot)
{
	struct alone *alone = calloc(1, sizeof(*alone));
	int rc;

	if (!alone)
		return -ENOMEM;
	rc = boot_random(&alone->boot.key);
	if (rc) {
		free(alone);
		return rc;
	}
	alone->boot.ops = &ops;
	alone->boot.nodes = 1;
	alone->boot.local = 1;
	*ret_boot = &alone->boot;
	return 0;
}
