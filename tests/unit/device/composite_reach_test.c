// SPDX-License-Identifier: BSD-3-Clause
/*
 * The error that a composite reports for a node that no link takes. The links are stand-ins that
 * return what the test tells them. This file defines the registry's functions for them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/composite.h"
#include "pmcore/device/registry.h"
#include "tests/harness/tap.h"

/* A link and what its peer_add says. */
struct stand_in {
	int err;
	const char *why; /* NULL: no sentence */
};

static struct stand_in first, second;

struct stand_in_link {
	struct pm_link base;
	const struct stand_in *role;
	struct pm_device_env env;
};

static int open_as(const struct stand_in *role, const struct pm_device_env *env,
		   struct pm_link **ret_link)
{
	struct stand_in_link *link = calloc(1, sizeof(*link));

	link->role = role;
	link->env = *env;
	*ret_link = &link->base;
	return 0;
}

static int open_first(const struct pm_device_env *env, struct pm_link **ret_link)
{
	return open_as(&first, env, ret_link);
}

static int open_second(const struct pm_device_env *env, struct pm_link **ret_link)
{
	return open_as(&second, env, ret_link);
}

static int open_never(const struct pm_device_env *env, struct pm_link **ret_link)
{
	snprintf(env->why, env->why_size, "closed: no such card");
	return -ENODEV;
}

static void close_link(struct pm_link *link)
{
	free(link);
}

static int peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		    struct pm_link_peer **ret_peer)
{
	struct stand_in_link *link = (struct stand_in_link *)base;

	if (link->role->why)
		snprintf(link->env.why, link->env.why_size, "%s", link->role->why);
	*ret_peer = NULL;
	return link->role->err;
}

static void peer_del(struct pm_link *link, struct pm_link_peer *peer)
{
}

static uint32_t mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	return 1000;
}

static int get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len, void **ret_buf,
		    uint64_t *ret_cookie)
{
	return -EAGAIN;
}

static int send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie, uint32_t len)
{
	return -EAGAIN;
}

static int send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	return 0;
}

static int receive(struct pm_link *link, struct pm_inbound *ret)
{
	return 0;
}

static void release(struct pm_link *link, uint64_t cookie)
{
}

#define STAND_IN(name_, open_)                                                                     \
	{                                                                                          \
		.abi = PM_DEVICE_ABI, .size = sizeof(struct pm_link_ops), .name = name_,           \
		.open = open_, .close = close_link, .peer_add = peer_add, .peer_del = peer_del,    \
		.mtu = mtu, .get_send = get_send, .send = send, .send_done = send_done,            \
		.receive = receive, .release = release                                             \
	}

static const struct pm_link_ops links[] = {STAND_IN("first", open_first),
					   STAND_IN("second", open_second),
					   STAND_IN("closed", open_never)};
static const struct registry_entry entries[] = {{"first", &links[0], NULL},
						{"second", &links[1], NULL},
						{"closed", &links[2], NULL}};

const struct registry_entry *registry_find(const char *name)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strcmp(entries[i].name, name))
			return &entries[i];
	return NULL;
}

const struct registry_entry *registry_choose(const char *name, const struct conf *conf,
					     uint32_t nodes)
{
	return registry_find(name);
}

/* "second" and "closed" are two ways of one device. */
const char *registry_other_way(const char *name)
{
	if (!strcmp(name, "second"))
		return "closed";
	return strcmp(name, "closed") ? NULL : "second";
}

const struct pm_link_ops *registry_stream(void)
{
	return NULL; /* no network device is opened here, so it is not asked for */
}

const char *registry_names(void)
{
	return "first, second, closed";
}

static struct composite *open_composite(uint32_t self, const char *config)
{
	const struct pmOptions options = {
		.size = sizeof(options), .job_key = 1, .self = self, .config = config};
	struct composite *c = NULL;
	char why[200];

	if (composite_open(&options, NULL, &c, why, sizeof(why)))
		tap_diag("%s", why);
	return c;
}

/* Node 7 is added where the two links say these; @want is the composite's sentence. */
static void check(const char *config, struct stand_in a, struct stand_in b, int err,
		  const char *want)
{
	struct composite *c = open_composite(1, config), *other = open_composite(7, config);
	uint8_t address[PM_ADDRESS_MAX];
	int len;

	must(c && other);
	len = composite_address(other, address, sizeof(address));
	first = a;
	second = b;
	/* of a failure before, which has nothing to do with it */
	snprintf(c->why, sizeof(c->why), "something else");
	if (is_int(len > 0, true))
		is_int(composite_add(c, 7, address, (size_t)len), err);
	if (err)
		is_str(c->why, want);
	composite_close(other);
	composite_close(c);
}

#define MTU "node 7: not by first: the MTU is 1024 bytes on this port and 4096 on its"

TAP_TEST(composite_add__a_link_says_why_not)
{
	const struct stand_in is_mute = {-EHOSTUNREACH, NULL}, has_mtu = {-EHOSTUNREACH, MTU},
			      has_subnet = {-EHOSTUNREACH, "second: another subnet"};

	check("devices=first+second", has_mtu, is_mute, -EHOSTUNREACH,
	      "node 7: no device reaches it: not by first: the MTU is 1024 bytes on this port and "
	      "4096 on its");
	check("devices=first+second", has_mtu, has_subnet, -EHOSTUNREACH,
	      "node 7: no device reaches it: not by first: the MTU is 1024 bytes on this port and "
	      "4096 on its; second: another subnet");
	check("devices=first+second", is_mute, is_mute, -EHOSTUNREACH,
	      "node 7: no device reaches it");
	check("devices=first+closed", has_subnet, is_mute, -EHOSTUNREACH,
	      "node 7: no device reaches it: second: another subnet (not open: closed: no such "
	      "card)");
}

TAP_TEST(composite_add__no_space)
{
	const struct stand_in is_full = {-ENOSPC, "/dev/shm: no room"},
			      is_mute = {-EHOSTUNREACH, NULL}, has_mtu = {-EHOSTUNREACH, MTU};

	check("devices=first+second", is_full, is_mute, -ENOSPC,
	      "node 7: no space for it is left: /dev/shm: no room");
	check("devices=first+second", has_mtu, is_full, -ENOSPC,
	      "node 7: no space for it is left: not by first: the MTU is 1024 bytes on this port "
	      "and 4096 on its; /dev/shm: no room");
}

TAP_TEST(composite_add__another_error_and_success)
{
	const struct stand_in has_mtu = {-EHOSTUNREACH, MTU}, is_dead = {-EPIPE, "node 7: dead"},
			      is_damaged = {-EINVAL, NULL}, takes_it = {0, NULL};

	check("devices=first+second", has_mtu, is_dead, -EPIPE, "node 7: dead");
	/* the caller says what the number means */
	check("devices=first+second", has_mtu, is_damaged, -EINVAL, "");
	check("devices=first+second", has_mtu, takes_it, 0, NULL);
}
