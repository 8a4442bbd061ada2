// SPDX-License-Identifier: BSD-3-Clause
/*
 * send_designs - the same ping-pong between two ranks by one of many designs. The designs differ in
 * the part that the user process and the kernel have in a message, in copies, and in how a rank
 * waits. docs/study has what it says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/designs/design.h"
#include "tests/bench/designs/measure.h"
#include "tests/bench/designs/net.h"

#define OK 0
#define USAGE 2

static const struct design *const designs[] = {
	&tcp_block,    &tcp_poll,     &udp_block,       &udp_poll,  &udp_batch, &udp_gso_block,
	&udp_gso_poll, &packet_block, &packet_poll,     &xdp_block, &xdp_poll,  &pm_udp,
	&pm_port,      &pm_direct,    &pm_direct_block, &pm_shmem,
};
#define DESIGNS (sizeof(designs) / sizeof(designs[0]))

static const char usage_text[] =
	"usage: send_designs -d DESIGN -r RANK -m FILE [-i INTERFACE] [-t MS] [-s] [-p]\n"
	"                    [-o COUNT] [-x] BYTES...\n"
	"       send_designs -l\n"
	"Half round trip time of messages of each size between two ranks, by one design, as JSON "
	"lines of\n"
	"rank 0. Each rank is a process with a core of its own (taskset); both name the same "
	"file.\n"
	"  -d  how messages are sent: see -l\n"
	"  -r  0 or 1\n"
	"  -m  file in which the ranks meet; to be removed afterwards\n"
	"  -i  interface whose cable is taken (default: eth1)\n"
	"  -t  time for a size, ms (default: 100)\n"
	"  -s  also take the time of each step\n"
	"  -p  pause before each round trip, untimed and for a random time: a ping-pong falls into "
	"step with\n"
	"      a tool that looks at fixed times, which then sees some stages too seldom\n"
	"  -o  as many round trips, unmeasured: for tools that count\n"
	"  -x  without probes of the cache line time\n"
	"  -l  list the designs\n"
	"exit status: 0 measured, 1 failed or wrong data, 2 wrong arguments\n";

static _Noreturn void refuse(const char *what)
{
	fprintf(stderr, "send_designs: %s\n%s", what, usage_text);
	exit(USAGE);
}

static const struct design *named(const char *name)
{
	for (size_t i = 0; i < DESIGNS; i++)
		if (!strcmp(designs[i]->name, name))
			return designs[i];
	refuse("no such design");
}

static int list(void)
{
	for (size_t i = 0; i < DESIGNS; i++)
		printf("%-16s %s\n", designs[i]->name, designs[i]->about);
	return OK;
}

static long number(const char *word, long least, long most)
{
	char *end;
	long value = strtol(word, &end, 10);

	if (end == word || *end || value < least || value > most)
		refuse(word);
	return value;
}

int main(int argc, char **argv)
{
	struct end end = {.interface = "eth1"};
	struct measurement how = {.seconds = 0.1};
	const char *file = NULL;
	int option, rank = -1;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return OK;
	}
	while ((option = getopt(argc, argv, "d:r:m:i:t:spo:xl")) != -1) {
		if (option == 'd')
			end.design = named(optarg);
		else if (option == 'r')
			rank = (int)number(optarg, 0, 1);
		else if (option == 'm')
			file = optarg;
		else if (option == 'i')
			end.interface = optarg;
		else if (option == 't')
			how.seconds = (double)number(optarg, 1, 10000) / 1e3;
		else if (option == 's')
			how.is_stepped = true;
		else if (option == 'p')
			how.is_paused = true;
		else if (option == 'o')
			how.operations = (int)number(optarg, 1, 10000000);
		else if (option == 'x')
			how.has_no_line = true;
		else if (option == 'l')
			return list();
		else
			refuse("unknown option");
	}
	if (!end.design || rank < 0 || !file || optind == argc)
		refuse("-d, -r, -m and a size are needed");
	for (int i = optind; i < argc; i++)
		number(argv[i], 1, MESSAGE_MAX);
	end.mtu = net_mtu(end.interface);
	meet_open(file, rank);
	measure_start();
	end.design->open(&end);
	meet();
	for (int i = optind; i < argc; i++)
		measure(&end, (size_t)number(argv[i], 1, MESSAGE_MAX), &how);
	meet();
	if (end.design->close)
		end.design->close(&end);
	return OK;
}
