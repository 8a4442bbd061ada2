// SPDX-License-Identifier: BSD-3-Clause
/* log - what the daemon tells its operator. */
#include <stdarg.h>
#include <stdio.h>

#include "pm-ethernet/daemon/ethd.h"
#include "pmcore/util/harmless.h"

void ethd_say(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	harmless_make(line);
	fprintf(stderr, "pm-ethernetd: %s\n", line);
}
