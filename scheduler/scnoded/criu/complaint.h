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
 * The last error in a log of CRIU, without time, place in its sources and the line that says no
 * more than that it failed. Without an error the last line; "" if there is none.
 */
void complaint_find(const char *log, char ret[COMPLAINT_MAX]);
/* The same, of file @name in directory @dir, of which the end is read. "" also if it can't be. */
void complaint_read(int dir, const char *name, char ret[COMPLAINT_MAX]);

#endif
