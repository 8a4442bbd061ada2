// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of the option parser: defaults, each key, each way to be wrong, nothing changed on error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmcore/util/conf.h"
#include "tests/harness/tap.h"

static struct conf conf;
static char why[512];

static int parse(const char *text)
{
	conf_defaults(&conf);
	why[0] = '\0';
	return conf_parse(&conf, text, why, sizeof(why));
}

/* The text is refused with a sentence that contains each of the two, and *conf stays as it was. */
static bool is_refused(const char *text, const char *first, const char *second)
{
	struct conf before;

	conf_defaults(&before);
	return okf(parse(text) == -EINVAL, "%s was taken", text) &&
	       okf(strstr(why, first) && strstr(why, second), "%s gave \"%s\"", text, why) &&
	       is_mem(&conf, &before, sizeof(conf));
}

TAP_TEST(conf_defaults__documented_values)
{
	conf_defaults(&conf);
	is_int(conf.n_devices, 5);
	is_str(conf.devices[0], "self");
	is_str(conf.devices[1], "shmem");
	is_str(conf.devices[2], "verbs");
	is_str(conf.devices[3], "ethernet");
	is_str(conf.devices[4], "udp");
	is_int(conf.has_devices, false);
	is_str(conf.ethernet_socket, "/run/pm-ethernet/socket");
	is_int(conf.ethernet_attach, CONF_ATTACH_AUTO);
	is_int(conf.n_ethernet_rails, 0);
	is_int(conf.window, 1024);
	is_int(conf.credit, 32);
	is_int(conf.send_buffers, 2048);
	is_int(conf.pull_bytes, 1 << 20);
	is_int(conf.peer_timeout_ms, 600000);
	is_int(conf.spin_us, 50);
	is_int(conf.udp_gso, 1);
	is_int(conf.udp_mtu, 0);
	is_int(conf.crc, 0);
	is_int(conf.shmem_ring, 65536);
	is_int(conf.shmem_mtu, 16384);
	is_int(conf.shmem_large, CONF_LARGE_AUTO);
	is_str(conf.shmem_dir, "/dev/shm");
	is_str(conf.fault, "");
	is_int(conf.n_udp_rails, 0);
	is_int(conf.verbs_pinned, 0);
	is_int(conf.verbs_lost_ms, 4000);
	is_int(conf.verbs_connections, 0);
	is_int(conf.verbs_path, CONF_PATH_AUTO);
	is_int(conf.verbs_connected_max, 512);
	is_int(conf.verbs_shared, 512);
	is_int(conf.verbs_gid, UINT32_MAX);
	is_int(conf.verbs_mtu, 4096);
	is_int(conf.verbs_credit, 32);
	is_int(conf.stream, CONF_STREAM_AUTO);
	is_int(conf.udp_port, 0);
	is_str(conf.trace, "");
}

TAP_TEST(conf_parse__nothing_changes_nothing)
{
	struct conf before;

	conf_defaults(&before);
	is_int(parse(""), 0);
	is_mem(&conf, &before, sizeof(conf));
	is_int(parse(" , ,,\n"), 0);
	is_mem(&conf, &before, sizeof(conf));
}

TAP_TEST(conf_parse__every_key)
{
	is_int(parse("devices=udp+self,fault=7:drop=1%:dup=2%,trace=/tmp/x "
		     "y,udp.rails=eth1+10.0.2.0/24"
		     ",udp.mtu=9000,udp.gso=0,udp.port=4000,shmem.ring=1M,shmem.mtu=8k,shmem.large="
		     "cma"
		     ",shmem.dir=/run/x,channel.window=64,channel.credit=64,channel.crc=1"
		     ",channel.send_buffers=64,channel.pull_bytes=64K,channel.peer_timeout=0"
		     ",wait.spin=0"),
	       0);
	is_str(why, "");
	is_int(conf.n_devices, 2);
	is_str(conf.devices[0], "udp");
	is_str(conf.devices[1], "self");
	is_str(conf.devices[2], "");
	is_str(conf.fault, "7:drop=1%:dup=2%");
	is_str(conf.trace, "/tmp/x y");
	is_int(conf.n_udp_rails, 2);
	is_str(conf.udp_rails[0], "eth1");
	is_str(conf.udp_rails[1], "10.0.2.0/24");
	is_int(conf.udp_mtu, 9000);
	is_int(conf.udp_gso, 0);
	is_int(conf.udp_port, 4000);
	is_int(conf.shmem_ring, 1 << 20);
	is_int(conf.shmem_mtu, 8192);
	is_int(conf.shmem_large, CONF_LARGE_CMA);
	is_str(conf.shmem_dir, "/run/x");
	is_int(conf.window, 64);
	is_int(conf.credit, 64);
	is_int(conf.crc, 1);
	is_int(conf.send_buffers, 64);
	is_int(conf.pull_bytes, 65536);
	is_int(conf.peer_timeout_ms, 0);
	is_int(conf.spin_us, 0);
}

TAP_TEST(conf_parse__later_wins_and_spaces_are_free)
{
	is_int(parse("  channel.window=64 ,  channel.window=128\n,wait.spin=7,"), 0);
	is_int(conf.window, 128);
	is_int(conf.spin_us, 7);
	is_int(conf_parse(&conf, "udp.rails=,trace=", why, sizeof(why)), 0);
	is_int(conf.window, 128);
	is_int(conf.n_udp_rails, 0);
}

TAP_TEST(conf_parse__unknown_or_no_value)
{
	is_refused("channel.windows=64", "\"channel.windows\"", "channel.window,");
	is_refused("wait.spin=1,hello", "\"hello\"", "key=value");
	is_refused("=5", "\"\"", "devices");
}

TAP_TEST(conf_parse__numbers_out_of_range)
{
	is_refused("channel.window=4", "channel.window=4", "from 8 to 4096");
	is_refused("channel.window=100", "channel.window=100", "power of two");
	is_refused("channel.window=8192", "channel.window", "4096");
	is_refused("channel.window=1K", "channel.window", "4096");
	is_refused("channel.window=", "channel.window=", "8");
	is_refused("channel.window=64x", "64x", "8");
	is_refused("channel.window=-64", "-64", "8");
	is_refused("channel.credit=0", "channel.credit=0", "1");
	is_refused("channel.send_buffers=63", "63", "64");
	is_refused("channel.pull_bytes=63K", "63K", "65536");
	is_refused("channel.peer_timeout=4294967296", "4294967296", "4294967295");
	is_refused("channel.peer_timeout=99999999999999999999999999", "channel.peer_timeout", "0");
	is_refused("udp.mtu=575", "udp.mtu=575", "0 or a number from 576");
	is_refused("udp.port=65536", "65536", "65535");
	is_refused("shmem.ring=8K", "8K", "16384");
	is_refused("shmem.ring=20K", "20K", "power of two");
	is_refused("shmem.ring=17179869184G", "17179869184G", "16777216");
	is_refused("shmem.mtu=64KK", "64KK", "K, M or G");
	is_int(parse("udp.mtu=576,shmem.ring=16M,shmem.mtu=65536,channel.window=8"), 0);
	is_int(parse("channel.window=4096,channel.pull_bytes=1G"), 0);
	is_int(conf.pull_bytes, 1 << 30);
	is_refused("verbs.connections=0", "verbs.connections", "from 1 to 65536");
	is_int(parse("verbs.connections=65536"), 0);
	is_int(conf.verbs_connections, 65536);
	is_refused("verbs.lost_timeout=86400001", "verbs.lost_timeout", "from 0 to 86400000");
	is_int(parse("verbs.lost_timeout=0"), 0);
	is_int(conf.verbs_lost_ms, 0);
	is_refused("verbs.shared=15", "verbs.shared", "0 or a number from 16 to 32768");
	is_int(parse("verbs.shared=0"), 0);
	is_int(conf.verbs_shared, 0);
	is_refused("verbs.pinned=1048575", "verbs.pinned", "from 1048576 to 1099511627776");
	is_refused("verbs.pinned=1025G", "1025G", "K, M or G");
	is_int(parse("verbs.pinned=1099511627776"), 0);
	is_int(conf.verbs_pinned, 1ll << 40);
	is_refused("verbs.connected_max=1048577", "verbs.connected_max", "from 0 to 1048576");
	is_int(parse("verbs.connected_max=0"), 0);
	is_int(conf.verbs_connected_max, 0);
	is_int(conf.shmem_ring, 65536);
}

TAP_TEST(conf_parse__words)
{
	is_refused("channel.crc=yes", "channel.crc=yes", "1 or 0");
	is_refused("udp.gso=", "udp.gso=", "1 or 0");
	is_refused("shmem.large=big", "big", "auto, ring or cma");
	is_refused("verbs.path=ud", "ud", "auto, connected or datagram");
	is_int(parse("verbs.path=datagram"), 0);
	is_int(conf.verbs_path, CONF_PATH_DATAGRAM);
	is_refused("shmem.dir=shm", "shm", "absolute");
	is_refused("devices=", "devices=", "self+shmem+udp");
	is_refused("devices=udp+", "udp+", "between");
	is_refused("devices=udp++self", "udp++self", "between");
	is_refused("devices=udp+udp", "udp+udp", "different");
	is_refused("devices=averyverylongname", "averyverylongname", "between");
	is_refused("devices=a+b+c+d+e+f+g+h+i", "devices", "8");
	is_refused("udp.rails=eth 1", "eth 1", "eth1");
	is_int(parse("devices=a+b+c+d+e+f+g+h"), 0);
	is_int(conf.n_devices, 8);
	is_int(parse("shmem.large=ring"), 0);
	is_int(conf.shmem_large, CONF_LARGE_RING);
}

#define is_word(text, field, value) (is_int(parse(text), 0), is_int(conf.field, value))

/* The words of the table stand in the order of the enums. */
TAP_TEST(conf_parse__each_word_of_a_choice)
{
	is_word("stream=auto", stream, CONF_STREAM_AUTO);
	is_word("stream=never", stream, CONF_STREAM_NEVER);
	is_word("stream=always", stream, CONF_STREAM_ALWAYS);
	is_word("ethernet.lane=auto", ethernet_lane, CONF_LANE_AUTO);
	is_word("ethernet.lane=never", ethernet_lane, CONF_LANE_NEVER);
	is_word("ethernet.lane=always", ethernet_lane, CONF_LANE_ALWAYS);
	is_word("ethernet.attach=auto", ethernet_attach, CONF_ATTACH_AUTO);
	is_word("ethernet.attach=direct", ethernet_attach, CONF_ATTACH_DIRECT);
	is_word("ethernet.attach=port", ethernet_attach, CONF_ATTACH_PORT);
	is_word("shmem.large=auto", shmem_large, CONF_LARGE_AUTO);
	is_word("shmem.large=ring", shmem_large, CONF_LARGE_RING);
	is_word("shmem.large=cma", shmem_large, CONF_LARGE_CMA);
	is_word("verbs.path=auto", verbs_path, CONF_PATH_AUTO);
	is_word("verbs.path=connected", verbs_path, CONF_PATH_CONNECTED);
	is_word("verbs.path=datagram", verbs_path, CONF_PATH_DATAGRAM);
}

TAP_TEST(conf_parse__texts_at_the_limit)
{
	char text[700];

	snprintf(text, sizeof(text), "fault=%0127d", 1);
	is_int(parse(text), 0);
	is_int(strlen(conf.fault), 127);
	snprintf(text, sizeof(text), "fault=%0128d", 1);
	is_refused(text, "fault=", "at most 127");
	snprintf(text, sizeof(text), "trace=%0600d", 1);
	is_refused(text, "too long", "511");
}

TAP_TEST(conf_parse__credit_and_window_together)
{
	is_int(parse("channel.window=16"), 0);
	is_int(conf.credit, 16);
	is_refused("channel.window=16,channel.credit=17", "channel.credit=17", "which is 16");
	is_refused("channel.credit=2048", "channel.credit=2048", "1024");
	is_int(parse("channel.credit=2048,channel.window=2048"), 0);
	is_int(conf.credit, 2048);
}

TAP_TEST(conf_credit__falls_with_the_job)
{
	conf_defaults(&conf);
	is_int(conf_credit(&conf, 0), 32);
	is_int(conf_credit(&conf, 2), 32);
	is_int(conf_credit(&conf, 256), 32);
	is_int(conf_credit(&conf, 512), 16);
	is_int(conf_credit(&conf, 2560), 4);
	is_int(conf_credit(&conf, UINT32_MAX), 4);
	is_int(parse("channel.window=8"), 0);
	is_int(conf_credit(&conf, 512), 8);
	is_int(parse("channel.credit=64,channel.window=512"), 0);
	is_int(conf_credit(&conf, 2560), 64);
	/* Chosen first, and another text over it. */
	conf_defaults(&conf);
	is_int(conf_parse(&conf, "channel.credit=2", why, sizeof(why)), 0);
	is_int(conf_parse(&conf, "channel.crc=1", why, sizeof(why)), 0);
	is_int(conf_credit(&conf, 65536), 2);
}

TAP_TEST(conf_parse__no_room_for_the_sentence)
{
	char small[4] = "zzz";

	conf_defaults(&conf);
	is_int(conf_parse(&conf, "x=1", small, sizeof(small)), -EINVAL);
	is_int(strlen(small), 3);
	is_int(conf_parse(&conf, "x=1", NULL, 0), -EINVAL);
}

TAP_TEST(conf_parse__ethernet)
{
	is_int(parse("ethernet.socket=/run/x,ethernet.attach=port,ethernet.rails=eth2+eth0"), 0);
	is_str(conf.ethernet_socket, "/run/x");
	is_int(conf.ethernet_attach, CONF_ATTACH_PORT);
	is_int(conf.n_ethernet_rails, 2);
	is_str(conf.ethernet_rails[0], "eth2");
	is_str(conf.ethernet_rails[1], "eth0");
	is_int(conf.n_udp_rails, 0);
	is_int(parse("ethernet.attach=direct"), 0);
	is_int(conf.ethernet_attach, CONF_ATTACH_DIRECT);
	is_refused("ethernet.attach=both", "both", "auto, direct or port");
	is_refused("ethernet.socket=run/x", "run/x", "absolute");
	is_refused("ethernet.rails=a++b", "a++b", "eth1+eth2");
	is_int(parse("devices=udp"), 0);
	is_int(conf.has_devices, true);
}

TAP_TEST(conf_window__several_links_share_half_of_the_default)
{
	is_int(conf_window(1024, 1), 1024);
	is_int(conf_window(1024, 2), 512);
	is_int(conf_window(1024, 8), 512);
	is_int(conf_window(512, 8), 512);
	is_int(conf_window(64, 8), 64);
	/* somebody wants that many */
	is_int(conf_window(2048, 8), 2048);
}
