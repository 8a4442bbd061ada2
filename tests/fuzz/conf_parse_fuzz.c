// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any text as options: it is taken and everything is in range, or refused with a sentence and no
 * change.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/util/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int cond)
{
	if (!cond)
		abort();
}

static int is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

static void check_ranges(const struct conf *conf)
{
	unsigned int i;

	require(conf->n_devices >= 1 && conf->n_devices <= 8 &&
		conf->n_udp_rails <= CONF_RAILS_MAX);
	for (i = 0; i < conf->n_devices; i++)
		require(conf->devices[i][0] && memchr(conf->devices[i], 0, CONF_NAME_MAX));
	for (i = 0; i < conf->n_udp_rails; i++)
		require(conf->udp_rails[i][0] && memchr(conf->udp_rails[i], 0, 48));
	require(memchr(conf->fault, 0, sizeof(conf->fault)) != NULL);
	require(memchr(conf->trace, 0, sizeof(conf->trace)) != NULL);
	require(memchr(conf->shmem_dir, 0, sizeof(conf->shmem_dir)) && conf->shmem_dir[0] == '/');
	require(!conf->udp_mtu || (conf->udp_mtu >= 576 && conf->udp_mtu <= 65535));
	require(conf->udp_port <= 65535);
	require(is_power(conf->shmem_ring) && conf->shmem_ring >= 16384 &&
		conf->shmem_ring <= 16 << 20);
	require(conf->shmem_mtu >= 1024 && conf->shmem_mtu <= 65536);
	require(is_power(conf->window) && conf->window >= 8 && conf->window <= 4096);
	require(conf->credit >= 1 && conf->credit <= conf->window);
	require(conf->send_buffers >= 64 && conf->send_buffers <= 65536);
	require(conf->pull_bytes >= 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	char why[64] = "";
	struct conf before, conf;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	conf_defaults(&conf);
	before = conf;
	if (conf_parse(&conf, text, why, sizeof(why))) {
		require(why[0] && memchr(why, 0, sizeof(why)));
		require(!memcmp(&before, &conf, sizeof(conf)));
	}
	check_ranges(&conf);
	free(text);
	return 0;
}
