/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - cluster.json as a tree, without what only other hosts need: of 65536 hosts with all their
 * rails the whole tree would be hundreds of MiB. Knows which key holds the hosts; judges nothing.
 */
#ifndef CLUSTER_FILE_H
#define CLUSTER_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Is the @entry of a host that of @name, or of what stands in it before the first dot? */
bool cluster_file_is_host(const json_t *entry, const char *name);

/*
 * The object that the file holds; of its hosts only those of the name @host keep their rails,
 * addresses and options, and with @host NULL none. A file that ends too early or changes meanwhile,
 * and was written to just now, is read again after its writer went on, if @may_wait: up to 2 s from
 * one piece to the next. Without it the one reading counts. NULL with a sentence that names the
 * file, the line and the remedy.
 */
json_t *cluster_file_load(const char *path, const char *host, bool may_wait, char *why,
			  size_t why_size);

#endif
