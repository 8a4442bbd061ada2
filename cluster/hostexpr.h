/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostexpr - host expressions such as "rack0+io[1-2]~n7" or "all:16": names, groups and what is
 * done with them. Owns the grammar, which configs/pmtopo/hostexpr.py shares:
 * tests/golden/hostexpr.json feeds both. The caller tells which hosts a group holds, and checks
 * whether a name is a host. The algebra is that of SCore's scorehosts(1).
 *
 *   expression = term { operator term }           from left to right; blanks around all parts are ignored
 *   operator   = "+" | ","   also these           "~" | ",~"   without these
 *   term       = ( group | item of a hostlist ) { ":" place | "@" place }
 *   place      = count | host
 *
 *   A:4   the first four of A          A:n7   those of A up to n7
 *   A@4   the others                   A@n7   those behind n7
 *
 * A place of up to 9 digits is a count.
 */
#ifndef CLUSTER_HOSTEXPR_H
#define CLUSTER_HOSTEXPR_H

#include "cluster/hostlist.h"

#define HOSTEXPR_CUTS_MAX 16 /* of one term */

struct hostexpr_groups {
	/*
	 * Calls @add(to, name) for each host of group @name, in order, until it gives other than 0,
	 * which is returned; -ENOENT: no such group. The names stay valid until the expansion is
	 * over.
	 */
	int (*each)(void *arg, const char *group, int (*add)(void *to, const char *name), void *to);
	void *arg;
};

/*
 * Expands @text into *@ret: each host once, in order, at least one. @groups may be NULL. 0;
 * -ENOMEM; -EIO: no random bytes; -EINVAL with a sentence (place counted from character 1, what is
 * wrong, what to write) in @why; what @each gave. On failure *@ret is unchanged. hostlist_fini
 * frees it.
 */
int hostexpr_expand(struct hostlist *ret, const char *text, const struct hostexpr_groups *groups,
		    char *why, size_t why_size);

#endif
