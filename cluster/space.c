// SPDX-License-Identifier: BSD-3-Clause
/* scconf has checked the file; this checks what the kernel programs and the scheduler rely on. */
#include "cluster/space.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char axes[CLUSTER_DIMS + 1] = "xyzuvw";

static int __attribute__((format(printf, 3, 4)))
refuse(char *why, size_t why_size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_size, format, args);
	va_end(args);
	return -EINVAL;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

int cluster_space_read(const json_t *all, struct cluster_space *ret, char *why, size_t why_size)
{
	const json_t *topology = json_object_get(all, "topology");
	const json_t *dims = json_object_get(topology, "dims"), *points;
	struct cluster_space space = {0};
	size_t d;

	*ret = space;
	if (!topology || json_is_null(topology))
		return 0;
	if (strcmp(text_of(topology, "kind"), "hypercrossbar"))
		return refuse(why, why_size,
			      "topology: kind is %s, known is hypercrossbar; correct it in "
			      "cluster.toml",
			      text_of(topology, "kind"));
	if (json_array_size(dims) < 1 || json_array_size(dims) > CLUSTER_DIMS)
		return refuse(why, why_size,
			      "topology: dims has %zu items, usable are 1 to %d dimensions",
			      json_array_size(dims), CLUSTER_DIMS);
	json_array_foreach(dims, d, points) {
		json_int_t n = json_integer_value(points);

		if (n < 1 || n > CLUSTER_LINE_MAX)
			return refuse(why, why_size,
				      "topology: dimension %c has %lld points, usable are 1 to %d",
				      axes[d], (long long)n, CLUSTER_LINE_MAX);
		space.dims[d] = (uint16_t)n;
	}
	space.n_dims = (uint32_t)json_array_size(dims);
	*ret = space;
	return 0;
}

int cluster_space_place(const struct cluster_space *space, const json_t *host,
			uint16_t ret[CLUSTER_DIMS], char *why, size_t why_size)
{
	const json_t *coords = json_object_get(host, "coords"), *coord;
	const char *name = text_of(host, "name");
	size_t d;

	memset(ret, 0, CLUSTER_DIMS * sizeof(ret[0]));
	if (!space->n_dims || !coords || json_is_null(coords))
		return 0;
	if (json_array_size(coords) != space->n_dims)
		return refuse(why, why_size,
			      "host %s: %zu coords for %u dimensions; correct them in cluster.toml",
			      name, json_array_size(coords), space->n_dims);
	json_array_foreach(coords, d, coord) {
		json_int_t at = json_integer_value(coord);

		if (!json_is_integer(coord) || at < 0 || at >= space->dims[d])
			return refuse(why, why_size,
				      "host %s: coordinate %c is outside of 0 to %u; correct it in "
				      "cluster.toml",
				      name, axes[d], space->dims[d] - 1u);
		ret[d] = (uint16_t)at;
	}
	return 1;
}
