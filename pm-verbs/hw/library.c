// SPDX-License-Identifier: BSD-3-Clause
#include "pm-verbs/hw/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "libibverbs.so.1"

/* The functions of the library, and the names that it exports them under. */
static const struct symbol {
	const char *name;
	size_t offset; /* of the pointer in struct verbs */
} symbols[] = {
#define SYMBOL(f)                                                                                  \
	{                                                                                          \
		"ibv_" #f, offsetof(struct verbs, f)                                               \
	}
	SYMBOL(get_device_list),
	SYMBOL(free_device_list),
	SYMBOL(open_device),
	SYMBOL(close_device),
	SYMBOL(query_device),
	SYMBOL(query_port),
	{"_ibv_query_gid_ex", offsetof(struct verbs, query_gid_ex)},
	SYMBOL(alloc_pd),
	SYMBOL(dealloc_pd),
	SYMBOL(reg_mr),
	SYMBOL(dereg_mr),
	SYMBOL(create_comp_channel),
	SYMBOL(destroy_comp_channel),
	SYMBOL(create_cq),
	SYMBOL(resize_cq),
	SYMBOL(destroy_cq),
	SYMBOL(get_cq_event),
	SYMBOL(ack_cq_events),
	SYMBOL(create_srq),
	SYMBOL(destroy_srq),
	SYMBOL(create_qp),
	SYMBOL(modify_qp),
	SYMBOL(destroy_qp),
	SYMBOL(create_ah),
	SYMBOL(destroy_ah),
	SYMBOL(get_async_event),
	SYMBOL(ack_async_event),
	SYMBOL(wc_status_str),
#undef SYMBOL
};

static const struct verbs *replaced; /* by a test, or NULL */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct verbs *load(char *why)
{
	static struct verbs table;
	void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		snprintf(why, VERBS_WHY,
			 "verbs: cannot load %s, install libibverbs1 and ibverbs-providers (%s)",
			 NAME, dlerror());
		return NULL;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(handle, symbols[i].name);

		if (!found) {
			snprintf(why, VERBS_WHY, "verbs: %s is too old, it has no %s: install 44",
				 NAME, symbols[i].name);
			dlclose(handle);
			return NULL;
		}
		memcpy((char *)&table + symbols[i].offset, &found, sizeof(found));
	}
	return &table;
}

const struct verbs *verbs_library(char *why)
{
	static const struct verbs *loaded;
	const struct verbs *ret;

	pthread_mutex_lock(&lock);
	if (!replaced && !loaded)
		loaded = load(why);
	ret = replaced ? replaced : loaded;
	pthread_mutex_unlock(&lock);
	return ret;
}

bool verbs_is_possible(void)
{
	bool is_replaced;

	pthread_mutex_lock(&lock);
	is_replaced = replaced != NULL;
	pthread_mutex_unlock(&lock);
	return is_replaced || !access("/sys/class/infiniband", F_OK);
}

void verbs_library_replace(const struct verbs *table)
{
	pthread_mutex_lock(&lock);
	replaced = table;
	pthread_mutex_unlock(&lock);
}

int verbs_query_port(const struct verbs *verbs, struct ibv_context *context, uint8_t port,
		     struct ibv_port_attr *ret_attr)
{
	struct verbs_context *extended = verbs_get_ctx_op(context, query_port);

	memset(ret_attr, 0, sizeof(*ret_attr));
	if (extended)
		return extended->query_port(context, port, ret_attr, sizeof(*ret_attr));
	return verbs->query_port(context, port, (struct _compat_ibv_port_attr *)ret_attr);
}
