// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Frame loss of a lab switch: a traffic-control program at the output of the port a host's cable
 * ends in. Whether frame number n of a port is lost depends on the port's seed and n alone, so one
 * seed gives one pattern whatever the timing and on however many CPUs the frames come. It is not
 * XDP on the port's input. That would run before the sender's uplink is held to its rate, so that
 * lost frames cost no time on the wire, and once more when they come out of it. Includes no header:
 * the lab compiles it on machines that have clang and nothing else.
 */

typedef unsigned int u32;
typedef unsigned long long u64;

enum { TC_ACT_OK = 0, TC_ACT_SHOT = 2, PPM = 1000000 };

struct __sk_buff;

struct port {
	u64 seed;   /* of this port's pattern */
	u64 frames; /* come so far: the number of the next one */
	u64 lost;   /* of those, dropped here */
	u32 ppm;    /* chance to be lost, millionths */
	u32 unused; /* pads to 8 bytes */
};

/* one entry; the layout of these fields is what the loader reads from the type information */
struct {
	int (*type)[2];        /* BPF_MAP_TYPE_ARRAY */
	int (*max_entries)[1]; /* a program has one port */
	u32 *key;              /* always 0 */
	struct port *value;
} port_map __attribute__((section(".maps"), used));

static void *(*map_lookup)(void *map, const void *key) = (void *)1;

/* splitmix64: the n-th number of the sequence without the ones before it */
static inline u64 scramble(u64 seed, u64 n)
{
	u64 z = seed + (n + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

__attribute__((section("tc"), used)) int lose(struct __sk_buff *skb)
{
	u32 key = 0;
	struct port *port = map_lookup(&port_map, &key);

	(void)skb;
	if (!port || !port->ppm)
		return TC_ACT_OK;
	if ((u32)(scramble(port->seed, __sync_fetch_and_add(&port->frames, 1)) >> 32) % PPM >=
	    port->ppm)
		return TC_ACT_OK;
	__sync_fetch_and_add(&port->lost, 1);
	return TC_ACT_SHOT;
}

char license_text[] __attribute__((section("license"), used)) = "Dual BSD/GPL";
