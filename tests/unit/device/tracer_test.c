// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of device/tracer.c: the file is a pcapng with every packet, both ways, and only that is
 * changed.
 */
#include "pmcore/device/tracer.h"

#include <sys/stat.h>

#include "pmcore/wire/codec.h"
#include "tests/unit/device/lower.h"

static bool begin(struct stand *s, const char *path, uint32_t n_rails, uint32_t packets)
{
	memset(s, 0, sizeof(*s));
	conf_defaults(&s->conf);
	snprintf(s->conf.trace, sizeof(s->conf.trace), "%s", path);
	for (uint32_t r = 0; r < n_rails; r++)
		snprintf(s->rails[r].name, sizeof(s->rails[r].name), "eth%u", r);
	lower_init(&s->lower, n_rails, packets);
	return is_int(stand_open(s, &pm_tracer_ops, 5), 0);
}

static const char *directory(void)
{
	static char path[40];

	strcpy(path, "/tmp/tracer_test.XXXXXX");
	return mkdtemp(path);
}

static void remove_all(const char *dir)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/t.5.pcapng", dir);
	unlink(path);
	rmdir(dir);
}

/* The file as 32-bit words. */
static uint32_t *load(const char *dir, size_t *ret_words)
{
	char path[80];
	struct stat st;
	uint32_t *words;
	FILE *f;

	snprintf(path, sizeof(path), "%s/t.5.pcapng", dir);
	f = fopen(path, "r");
	if (!f || fstat(fileno(f), &st))
		return NULL;
	words = malloc((size_t)st.st_size + 4);
	*ret_words = fread(words, 4, (size_t)st.st_size / 4, f);
	is_int(st.st_size % 4, 0);
	is_int(st.st_mode & 0777, 0600);
	fclose(f);
	return words;
}

/* One packet block, taken apart. */
struct seen {
	uint32_t rail, length, direction;
	uint64_t time;
	const uint8_t *frame;
};

/* Walks the blocks as a reader does; -1: malformed. */
static int parse(const uint32_t *w, size_t n, uint32_t n_rails, struct seen *seen, int room)
{
	uint32_t interfaces = 0;
	int packets = 0;

	if (n < 7 || w[0] != 0x0a0d0d0a || w[2] != 0x1a2b3c4d)
		return -1;
	for (size_t at = 0; at < n;) {
		uint32_t length = w[at + 1];

		if (length % 4 || at + length / 4 > n || w[at + length / 4 - 1] != length)
			return -1;
		if (w[at] == 1) {
			interfaces++;
			is_int(w[at + 2] & 0xffff, 1);
		} else if (w[at] == 6) {
			uint32_t bytes = w[at + 5];

			if (packets == room || w[at + 2] >= interfaces)
				return -1;
			seen[packets++] = (struct seen){
				.rail = w[at + 2],
				.time = (uint64_t)w[at + 3] << 32 | w[at + 4],
				.length = bytes,
				.frame = (const uint8_t *)&w[at + 7],
				/* behind the padded frame: flags option, then its value */
				.direction = w[at + 7 + (bytes + 3) / 4 + 1],
			};
			is_int(w[at + 6], bytes);
		}
		at += length / 4;
	}
	is_int(interfaces, n_rails);
	return packets;
}

static int post(struct stand *s, uint32_t rail, uint32_t len)
{
	static uint64_t data[LOWER_BYTES];
	struct wire_header header = {
		.version = WIRE_VERSION, .type = WIRE_DATA, .src = 5, .dst = 0x01020304};
	struct pm_packet packet = {.data = (uint8_t *)data, .len = len};

	wire_put_header(packet.data, &header);
	memset(packet.data + sizeof(header), 0x77, sizeof(data) - sizeof(header));
	return s->dev->ops->tx_post(s->dev, rail, NULL, &packet);
}

TAP_TEST(tracer__both_directions_with_rail_time_and_bytes)
{
	static struct stand s;
	struct seen seen[16];
	struct pm_rx rx[8];
	uint32_t *words;
	size_t n = 0;
	char path[80];
	const char *dir = directory();

	snprintf(path, sizeof(path), "%s/t", dir);
	if (!begin(&s, path, 2, 3))
		return;
	is_int(post(&s, 1, 61), 0);
	is_int(post(&s, 0, 55), 0);
	is_int(post(&s, 7, 48), -EAGAIN);
	is_int(s.lower.posted, 2);
	is_int(s.dev->ops->rx_burst(s.dev, rx, 8), 3);
	for (int i = 0; i < 3; i++)
		s.dev->ops->rx_return(s.dev, rx[i].token);
	s.dev->ops->close(s.dev);
	is_int(s.lower.held, 0);
	words = load(dir, &n);
	must(words && is_int(parse(words, n, 2, seen, 16), 5));
	is_int(seen[0].rail, 1);
	is_int(seen[0].length, 14 + 61);
	is_int(seen[0].direction, 2);
	is_mem(seen[0].frame, "\x02\x00\x01\x02\x03\x04\x02\x00\x00\x00\x00\x05\x88\xb5", 14);
	is_int(seen[0].frame[14 + 60], 0x77);
	is_int(seen[1].length, 14 + 48 + 7);
	is_mem(seen[1].frame + 14 + 48, "wwwwwww", 7);
	for (uint32_t i = 2; i < 5; i++) {
		is_int(seen[i].direction, 1);
		is_int(seen[i].rail, (i - 2) % 2);
		is_int(seen[i].length, 14 + LOWER_BYTES);
		is_int(seen[i].frame[14], i - 2);
		ok(seen[i].time >= seen[i - 1].time);
	}
	ok(seen[0].time / 1000000000 > 1600000000);
	free(words);
	remove_all(dir);
}

TAP_TEST(tracer__more_than_its_buffer)
{
	static struct stand s;
	static struct seen seen[20000];
	struct pm_rx rx[64];
	uint32_t *words;
	size_t n = 0;
	char path[80], text[300];
	int got;
	const char *dir = directory();

	snprintf(path, sizeof(path), "%s/t", dir);
	if (!begin(&s, path, 1, 20000))
		return;
	while ((got = s.dev->ops->rx_burst(s.dev, rx, 64)))
		while (got)
			s.dev->ops->rx_return(s.dev, rx[--got].token);
	s.dev->ops->dump(s.dev, text, sizeof(text));
	ok(strstr(text, "20000 packets recorded, 0 missing"));
	s.dev->ops->close(s.dev);
	words = load(dir, &n);
	must(words && is_int(parse(words, n, 1, seen, 20000), 20000));
	for (uint32_t i = 0; i < 20000; i++)
		is_mem(seen[i].frame + 14, &i, 4);
	free(words);
	remove_all(dir);
}

TAP_TEST(tracer__opens_in_tcpdump)
{
	static struct stand s;
	struct pm_rx rx[8];
	char path[80], command[200], line[200] = "";
	FILE *f;
	int lines = 0;
	const char *dir = directory();

	if (system("tcpdump --version >/dev/null 2>&1")) {
		tap_skip("tcpdump is not installed");
		rmdir(dir);
		return;
	}
	snprintf(path, sizeof(path), "%s/t", dir);
	if (!begin(&s, path, 1, 6))
		return;
	is_int(s.dev->ops->rx_burst(s.dev, rx, 6), 6);
	s.dev->ops->close(s.dev);
	snprintf(command, sizeof(command), "tcpdump -n -e -r %s/t.5.pcapng 2>/dev/null", dir);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f))
		lines += strstr(line, "0x88b5") != NULL;
	is_int(pclose(f), 0);
	is_int(lines, 6);
	remove_all(dir);
}

TAP_TEST(tracer__full_disk_ends_the_recording_only)
{
	static struct stand s;
	struct pm_rx rx[64];
	char text[300];
	int got, total = 0;

	if (access("/dev/full", W_OK)) {
		tap_skip("no /dev/full here");
		return;
	}
	unlink("/tmp/tracer_test.full.5.pcapng");
	/* O_NOFOLLOW refuses a link planted there by others */
	ok(symlink("/dev/full", "/tmp/tracer_test.full.5.pcapng") == 0);
	memset(&s, 0, sizeof(s));
	conf_defaults(&s.conf);
	strcpy(s.conf.trace, "/tmp/tracer_test.full");
	lower_init(&s.lower, 1, 20000);
	is_int(stand_open(&s, &pm_tracer_ops, 5), -ELOOP);
	ok(strstr(s.why, "/tmp/tracer_test.full.5.pcapng"));
	unlink("/tmp/tracer_test.full.5.pcapng");
	if (geteuid() || mknod("/tmp/tracer_test.full.5.pcapng", S_IFCHR | 0600, 1 << 8 | 7)) {
		tap_skip("a full device can't be made here");
		return;
	}
	if (is_int(stand_open(&s, &pm_tracer_ops, 5), 0)) {
		while ((got = s.dev->ops->rx_burst(s.dev, rx, 64)))
			for (total += got; got;)
				s.dev->ops->rx_return(s.dev, rx[--got].token);
		is_int(total, 20000);
		s.dev->ops->dump(s.dev, text, sizeof(text));
		ok(strstr(text, "No space left"));
		s.dev->ops->close(s.dev);
	}
	unlink("/tmp/tracer_test.full.5.pcapng");
}

TAP_TEST(tracer_open__path_that_can_not_be_written)
{
	static struct stand s;

	memset(&s, 0, sizeof(s));
	conf_defaults(&s.conf);
	strcpy(s.conf.trace, "/nonexistent/dir/t");
	lower_init(&s.lower, 1, 1);
	is_int(stand_open(&s, &pm_tracer_ops, 5), -ENOENT);
	ok(strstr(s.why, "/nonexistent/dir/t.5.pcapng") && strstr(s.why, "choose another path"));
}
