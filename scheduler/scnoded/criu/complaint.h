/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complaint - what CRIU gives as the reason of a failure, out of its log. That text holds names
 * which the job's user has chosen, so it is cut, and has no control characters.
 */
#ifndef SCHEDULER_SCNODED_CRIU_COMPLAINT_H
#define SCHEDULER_SCNODED_CRIU_COMPLAINT_H

#include <stddef.h>

#define COMPLAINT_MAX 256 /* bytes with the zero at the end */

/*
 * The first error in a log of CRIU, without time and place in its sources: later ones say what did
 * not come about by it. Without an error the last line; "" if there is none.
 */
void complaint_find(const char *log, char ret[COMPLAINT_MAX]);
/* The same, of the beginning of file @name in directory @dir. "" also if it can't be read. */
void complaint_read(int dir, const char *name, char ret[COMPLAINT_MAX]);

#endif
