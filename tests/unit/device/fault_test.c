// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of device/fault.c and fault_script.c: the script, the rate of each action, what it keeps
 * intact.
 */
#include "pmcore/device/fault.h"

#include <math.h>

#include "tests/unit/device/lower.h"

#define PACKETS 200000u

/* Packets that the fault device has delivered. */
struct outcome {
	uint32_t n; /* packets */
	uint32_t missing, twice, corrupt, late;
	uint32_t farthest; /* a late packet came after that many later ones of its rail */
	uint64_t hash;     /* of the sequence of numbers */
	uint32_t times[PACKETS];
	uint32_t rail_missing[PM_RAILS_MAX];
};

static bool begin(struct stand *s, const char *script, uint32_t n_rails, uint32_t packets,
		  uint32_t node)
{
	memset(s, 0, sizeof(*s));
	conf_defaults(&s->conf);
	snprintf(s->conf.fault, sizeof(s->conf.fault), "%s", script);
	lower_init(&s->lower, n_rails, packets);
	return is_int(stand_open(s, &pm_fault_ops, node), 0);
}

/* Takes all packets; keeps up to @keep of them unreturned for a while. */
static void drain(struct stand *s, struct outcome *o, uint32_t keep)
{
	struct pm_rx rx[24];
	uint64_t ring[512], until = clock_monotonic_ns() + 3000000000ull;
	uint32_t head = 0, tail = 0, expected[PM_RAILS_MAX] = {0}, rails = s->lower.n_rails;

	memset(o, 0, sizeof(*o));
	for (uint32_t r = 0; r < rails; r++)
		expected[r] = r;
	while (clock_monotonic_ns() < until) {
		int n = s->dev->ops->rx_burst(s->dev, rx, 24);

		for (int i = 0; i < n; i++) {
			uint32_t seq, flips = 0;
			uint64_t words[LOWER_BYTES / 8];

			memcpy(words, rx[i].data, LOWER_BYTES);
			memcpy(&seq, words, 4);
			((uint8_t *)words)[0] = ((uint8_t *)words)[1] = ((uint8_t *)words)[2] =
				((uint8_t *)words)[3] = 0x5a;
			for (size_t w = 0; w < LOWER_BYTES / 8; w++)
				flips += (uint32_t)__builtin_popcountll(words[w] ^
									0x5a5a5a5a5a5a5a5aull);
			o->corrupt += flips == 1;
			okf(flips <= 1, "%u bits flipped", flips);
			is_int(rx[i].len, LOWER_BYTES);
			o->hash = (o->hash ^ seq) * 0x100000001b3ull;
			o->n++;
			ring[head++ % 512] = rx[i].token;
			if (seq >= PACKETS || seq > expected[rx[i].rail] + 1000 ||
			    expected[rx[i].rail] > seq + 1000) /* its number is corrupt */
				continue;
			o->times[seq]++;
			if (seq < expected[rx[i].rail]) {
				uint32_t by = 0;

				for (uint32_t later = seq; later < expected[rx[i].rail];
				     later += rails)
					by += later != seq && o->times[later];
				o->late += o->times[seq] == 1;
				if (o->times[seq] == 1 && by > o->farthest)
					o->farthest = by;
			} else {
				expected[rx[i].rail] = seq + rails;
			}
		}
		while (head - tail > keep)
			s->dev->ops->rx_return(s->dev, ring[tail++ % 512]);
		ok(s->lower.held <= LOWER_BUFFERS);
		if (!n && s->lower.next == s->lower.end && !s->dev->ops->arm(s->dev))
			break;
	}
	while (head != tail)
		s->dev->ops->rx_return(s->dev, ring[tail++ % 512]);
	for (uint32_t i = 0; i < s->lower.end; i++) {
		o->missing += !o->times[i];
		o->rail_missing[i % rails] += !o->times[i];
		o->twice += o->times[i] == 2;
		/* a corrupt number may be another's */
		ok(o->times[i] <= 2 || o->corrupt);
	}
}

static void end(struct stand *s)
{
	s->dev->ops->close(s->dev);
	is_int(s->lower.held, 0);
}

/* Within five standard deviations of n * p. */
static bool is_about(uint32_t got, uint32_t n, double p)
{
	return okf(fabs(got - n * p) <= 5 * sqrt(n * p * (1 - p)) + 1, "%u of %u, expected %.0f",
		   got, n, n * p);
}

static struct outcome o, o2;

static void run(const char *script, uint32_t n_rails, struct outcome *ret)
{
	static struct stand s;

	memset(ret, 0, sizeof(*ret));
	if (begin(&s, script, n_rails, PACKETS, 1)) {
		drain(&s, ret, 100);
		end(&s);
	}
}

TAP_TEST(fault_rx__empty_script_changes_nothing)
{
	run("1", 3, &o);
	is_int(o.n, PACKETS);
	ok(!o.missing && !o.twice && !o.corrupt && !o.late);
}

TAP_TEST(fault_rx__drop)
{
	run("7:drop=5%", 2, &o);
	is_about(o.missing, PACKETS, 0.05);
	ok(!o.twice && !o.corrupt && !o.late);
}

TAP_TEST(fault_rx__rare_drop_in_parts_per_million)
{
	run("7:drop=200", 1, &o);
	is_about(o.missing, PACKETS, 0.0002);
}

TAP_TEST(fault_rx__dup)
{
	run("7:dup=3%", 2, &o);
	is_about(o.twice, PACKETS, 0.03);
	is_int(o.n, PACKETS + o.twice);
	ok(!o.missing && !o.corrupt && !o.late);
}

TAP_TEST(fault_rx__corrupt)
{
	run("7:corrupt=2%", 1, &o);
	/* flips in the number are not seen as such */
	is_about(o.corrupt, PACKETS, 0.02 * (LOWER_BYTES - 4) / LOWER_BYTES);
	is_int(o.n, PACKETS);
}

TAP_TEST(fault_rx__reorder)
{
	for (uint32_t distance = 1; distance <= 64; distance *= 4) {
		char script[40];

		snprintf(script, sizeof(script), "7:reorder=2%%/%u", distance);
		run(script, 2, &o);
		is_about(o.late, PACKETS, 0.02);
		ok(!o.missing && !o.twice && !o.corrupt);
		okf(o.farthest <= distance, "overtaken by %u, asked for %u", o.farthest, distance);
		ok(o.farthest == distance);
	}
}

TAP_TEST(fault_rx__delay_keeps_the_order)
{
	run("7:delay=0.1%/50us", 2, &o);
	is_int(o.n, PACKETS);
	ok(!o.missing && !o.twice && !o.corrupt && !o.late);
}

TAP_TEST(fault_rx__delay_takes_its_time)
{
	static struct stand s;
	struct pm_rx rx[8];
	uint64_t start;
	int n;

	if (!begin(&s, "7:delay=100%/20ms", 1, 5, 1))
		return;
	start = clock_monotonic_ns();
	is_int(s.dev->ops->rx_burst(s.dev, rx, 8), 0);
	is_int(s.dev->ops->arm(s.dev), 1);
	is_int(s.lower.armed, 0);
	while (!(n = s.dev->ops->rx_burst(s.dev, rx, 8)) &&
	       clock_monotonic_ns() < start + 2000000000ull)
		;
	ok(clock_monotonic_ns() >= start + 20000000ull);
	is_int(n, 5);
	for (int i = 0; i < n; i++)
		s.dev->ops->rx_return(s.dev, rx[i].token);
	is_int(s.dev->ops->arm(s.dev), 0);
	is_int(s.lower.armed, 1);
	end(&s);
}

TAP_TEST(fault_rx__all_at_once)
{
	run("9:drop=1%:dup=1%:corrupt=1%:reorder=1%/5:delay=0.1%/20us", 4, &o);
	ok(o.missing && o.twice && o.corrupt && o.late);
	is_about(o.missing, PACKETS, 0.01 + 0.01 * 4 / LOWER_BYTES);
}

TAP_TEST(fault_rx__one_rail_only)
{
	run("9:drop=20%@1", 4, &o);
	ok(!o.rail_missing[0] && !o.rail_missing[2] && !o.rail_missing[3]);
	is_about(o.rail_missing[1], PACKETS / 4, 0.2);
	run("9:drop=0@2:drop=10%", 4, &o);
	ok(!o.rail_missing[2]);
	is_about(o.rail_missing[0], PACKETS / 4, 0.1);
}

TAP_TEST(fault_rx__same_seed_same_faults)
{
	static struct stand s;

	run("5:drop=2%:dup=2%", 2, &o);
	run("5:drop=2%:dup=2%", 2, &o2);
	ok(o.hash == o2.hash);
	run("6:drop=2%:dup=2%", 2, &o2);
	ok(o.hash != o2.hash);
	if (begin(&s, "5:drop=2%:dup=2%", 2, PACKETS, 2)) {
		drain(&s, &o2, 100);
		ok(o.hash != o2.hash);
		end(&s);
	}
}

TAP_TEST(fault_rx__drops_are_counted)
{
	static struct stand s;
	char text[400];

	if (!begin(&s, "5:drop=10%", 2, PACKETS, 1))
		return;
	drain(&s, &o, 0);
	is_int(s.rails[0].drops[DROP_FAULT], o.rail_missing[0]);
	is_int(s.rails[1].drops[DROP_FAULT], o.rail_missing[1]);
	s.dev->ops->dump(s.dev, text, sizeof(text));
	ok(strstr(text, "fault: seed 5, 200000 packets"));
	end(&s);
}

TAP_TEST(fault_close__gives_back_what_it_holds)
{
	static struct stand s;
	struct pm_rx rx[8];

	if (!begin(&s, "5:delay=100%/9000ms:dup=50%", 2, PACKETS, 1))
		return;
	for (int i = 0; i < 1000; i++)
		is_int(s.dev->ops->rx_burst(s.dev, rx, 8), 0);
	ok(s.lower.held > 8 && s.lower.held <= LOWER_BUFFERS - s.dev->rx_buffers);
	end(&s);
}

TAP_TEST(fault_open__promises_what_it_can_keep)
{
	static struct stand s;
	struct pm_rx rx[LOWER_BUFFERS];
	uint32_t n = 0;

	if (!begin(&s, "5:reorder=10%/64:dup=5%", 2, PACKETS, 1))
		return;
	for (int i = 0; i < 100000 && n < s.dev->rx_buffers; i++)
		n += (uint32_t)s.dev->ops->rx_burst(s.dev, rx + n, (int)(s.dev->rx_buffers - n));
	is_int(n, s.dev->rx_buffers);
	for (uint32_t i = 0; i < n; i++)
		s.dev->ops->rx_return(s.dev, rx[i].token);
	end(&s);
}

TAP_TEST(fault_parse__defaults_and_units)
{
	struct fault_script script;
	char why[200] = "";

	must(fault_parse("0x10:drop=1.5%:reorder=10:delay=1%:corrupt=100%@7", &script, why,
			 sizeof(why)) == 0);
	is_int(script.seed, 16);
	is_int(script.rails[3].ppm[FAULT_DROP], 15000);
	is_int(script.rails[0].ppm[FAULT_REORDER], 10);
	is_int(script.rails[0].distance, 3);
	is_int(script.rails[0].delay_ns, 1000000);
	is_int(script.rails[7].ppm[FAULT_CORRUPT], 1000000);
	is_int(script.rails[6].ppm[FAULT_CORRUPT], 0);
	must(fault_parse("1:delay=1%/250us@1", &script, why, sizeof(why)) == 0);
	is_int(script.rails[1].delay_ns, 250000);
}

TAP_TEST(fault_parse__each_mistake_is_named)
{
	static const char *const bad[][2] = {
		{"", "no seed"},
		{"drop=1%", "no seed"},
		{"-1", "no seed"},
		{"99999999999999999999999", "no seed"},
		{"1:", "no such action"},
		{"1:lose=1%", "no such action"},
		{"1:drop", "lacks its rate"},
		{"1:drop=", "no rate"},
		{"1:drop=-1%", "no rate"},
		{"1:drop=nan", "no rate"},
		{"1:drop=0x10%", "no rate"},
		{"1:drop=101%", "more than 100%"},
		{"1:drop=1000001", "more than 100%"},
		{"1:drop=1%%", "nothing may follow"},
		{"1:drop=1%x", "nothing may follow"},
		{"1:drop=1%/3", "only reorder and delay"},
		{"1:reorder=1%/0", "not in 1..64"},
		{"1:reorder=1%/65", "not in 1..64"},
		{"1:reorder=1%/", "a number has to follow"},
		{"1:delay=1%/5", "lacks its unit"},
		{"1:delay=1%/5s", "lacks its unit"},
		{"1:delay=1%/11000ms", "more than 10 s"},
		{"1:drop=1%@8", "no rail"},
		{"1:drop=1%@", "no rail"},
		{"1:drop=1%@1.5", "no rail"},
		{"1:drop=1:drop=1:drop=1:drop=1:drop=1:drop=1:drop=1:drop=1:drop=1:drop=1:drop=1:"
		 "drop=1:drop=1:drop=1:drop=1:drop=1:drop=1",
		 "more than 16"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault_script script = {.seed = 4711};
		char why[200] = "";

		okf(fault_parse(bad[i][0], &script, why, sizeof(why)) == -EINVAL,
		    "\"%s\" was taken", bad[i][0]);
		okf(strstr(why, bad[i][1]) != NULL, "\"%s\": \"%s\"", bad[i][0], why);
		is_int(script.seed, 4711);
	}
}

TAP_TEST(fault_open__bad_script)
{
	static struct stand s;

	memset(&s, 0, sizeof(s));
	conf_defaults(&s.conf);
	strcpy(s.conf.fault, "1:drop=much");
	lower_init(&s.lower, 1, 1);
	is_int(stand_open(&s, &pm_fault_ops, 1), -EINVAL);
	ok(strstr(s.why, "fault: \"much\" is no rate"));
}
