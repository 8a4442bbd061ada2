// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/tap.h"
#include "tests/unit/pm-verbs/fake_verbs.h"

#include <string.h>

TAP_TEST(verbs_library__of_this_machine)
{
	char why[VERBS_WHY] = "";
	const struct verbs *v = verbs_library(why);

	if (!v) {
		ok(strstr(why, "libibverbs.so.1") != NULL);
		tap_skip("%s", why);
		return;
	}
	/* loaded once */
	ok(verbs_library(why) == v);
	ok(v->get_device_list && v->query_gid_ex && v->wc_status_str);
	is_str(v->wc_status_str(IBV_WC_SUCCESS), "success");
}

TAP_TEST(verbs_library_replace__and_back)
{
	char why[VERBS_WHY];
	const struct verbs *before = verbs_library(why);

	fake_begin(2);
	ok(verbs_library(why) != before);
	fake_end();
	ok(verbs_library(why) == before);
}

/*
 * A provider that knows only the old call fills what that has; the rest is 0, not what lay there.
 */
TAP_TEST(verbs_query_port__old_call)
{
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_port_attr attr;
	const struct verbs *v;
	char why[VERBS_WHY];
	int n;

	fake_begin(1);
	v = verbs_library(why);
	list = v->get_device_list(&n);
	must(list && n == 1);
	context = v->open_device(list[0]);
	must(context != NULL);
	memset(&attr, 0xff, sizeof(attr));
	is_int(verbs_query_port(v, context, 1, &attr), 0);
	is_int(attr.state, IBV_PORT_ACTIVE);
	is_int(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	is_int(attr.port_cap_flags2, 0);
	ok(verbs_query_port(v, context, 2, &attr) != 0);
	v->close_device(context);
	v->free_device_list(list);
	is_int(fake.live, 0);
	fake_end();
}
