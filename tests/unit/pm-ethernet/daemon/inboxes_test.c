// SPDX-License-Identifier: BSD-3-Clause
#include "pm-ethernet/daemon/inboxes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define BYTES 4096u
#define MANY 32

/* A daemon with nothing but the map; NULL: the test is skipped. */
static struct ethd *make(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	struct ethd *d;
	int ring = ethd_inbox_make(BYTES);

	if (ring < 0) {
		tap_skip("rings are made by root, where the kernel has them");
		return NULL;
	}
	d = calloc(1, sizeof(*d));
	opts.inner_map_fd = (uint32_t)ring;
	d->maps.inboxes =
		bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "inboxes", 4, 4, ETH_CONTEXTS, &opts);
	close(ring);
	ok(d->maps.inboxes >= 0);
	return d;
}

static void destroy(struct ethd *d)
{
	close(d->maps.inboxes);
	free(d);
}

/* The number of the ring that the map has for a context, 0 = none. */
static uint32_t ring_of(const struct ethd *d, uint32_t context)
{
	uint32_t id = 0;

	return bpf_map_lookup_elem(d->maps.inboxes, &context, &id) ? 0 : id;
}

static uint32_t id_of(int ring)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(ring, &info, &len) ? 0 : info.id;
}

TAP_TEST(ethd_inbox_put__is_there_on_return)
{
	struct ethd *d = make();
	int rings[MANY];

	if (!d)
		return;
	for (uint32_t i = 0; i < MANY; i++) {
		rings[i] = ethd_inbox_make(BYTES << (i % 4));
		is_int(ethd_inbox_put(d, i + 1, rings[i]), 0);
		is_int(ring_of(d, i + 1), id_of(rings[i]));
	}
	is_int(ring_of(d, 0), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		ethd_inbox_remove(d, i + 1);
		is_int(ring_of(d, i + 1), 0);
		close(rings[i]);
	}
	destroy(d);
}

/* Again and again, faster than the kernel is through with one change. */
TAP_TEST(ethd_inbox_put__the_same_context)
{
	struct ethd *d = make();

	if (!d)
		return;
	for (int i = 0; i < MANY; i++) {
		int ring = ethd_inbox_make(BYTES);

		is_int(ethd_inbox_put(d, 5, ring), 0);
		is_int(ring_of(d, 5), id_of(ring));
		close(ring);
		ethd_inbox_remove(d, 5);
		ethd_inbox_remove(d, 5);
		is_int(ring_of(d, 5), 0);
	}
	destroy(d);
}

TAP_TEST(ethd_inbox_put__no_ring)
{
	struct ethd *d = make();

	if (!d)
		return;
	is_int(ethd_inbox_put(d, 5, d->maps.inboxes), -EINVAL);
	is_int(ring_of(d, 5), 0);
	destroy(d);
}
