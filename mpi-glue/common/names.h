/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names - comma-separated lists of names, as users select components of Open MPI with.
 */
#ifndef MPI_GLUE_NAMES_H
#define MPI_GLUE_NAMES_H

#include <stdbool.h>

/* Whether the list asks for @name; "^..." lists only exclude. NULL is an empty list. */
bool names_include(const char *list, const char *name);

#endif
