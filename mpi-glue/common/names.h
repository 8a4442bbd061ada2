/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names - comma-separated lists of names, as users select components of Open MPI with.
 */
#ifndef MPI_GLUE_NAMES_H
#define MPI_GLUE_NAMES_H

#include <stdbool.h>

/* Whether the list asks for @name; "^..." lists only exclude. NULL is an empty list. */
bool names_include(const char *list, const char *name);

/* Whether the list leaves @name to be used: it asks for it, excludes others only, or is empty. */
bool names_allow(const char *list, const char *name);

#endif
