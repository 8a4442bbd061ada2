// SPDX-License-Identifier: BSD-3-Clause
/* bed_main - main() of the tests on a bed (bed.h): they are skipped where bpf() can't be had. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static int say(enum libbpf_print_level level, const char *format, va_list list)
{
	char line[1000];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, list);
	line[strcspn(line, "\n")] = 0;
	tap_diag("%s", line);
	return 0;
}

int main(int argc, char **argv)
{
	int map;

	if (geteuid())
		tap_skip_all("BPF programs are loaded by root only");
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bed", 4, 4, 1, NULL);
	if (map < 0)
		tap_skip_all("the kernel refuses bpf(): %s", strerror(errno));
	close(map);
	libbpf_set_print(say);
	return tap_main(argc, argv);
}
