/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi-glue/common/ways.h"

#define MIN_LOG 13

_Static_assert(WAYS_MIN == 1 << MIN_LOG, "the first class begins there");

unsigned ways_class(size_t size)
{
	unsigned log = 63 - (unsigned)__builtin_clzll(size | WAYS_MIN);

	return log - MIN_LOG < WAYS_CLASSES ? log - MIN_LOG : WAYS_CLASSES - 1;
}

/* The burst is over: notes what it took, if it was one message. */
static void close_burst(struct ways *w)
{
	if (!w->n)
		return;
	w->were_many = w->n > 1;
	if (!w->were_many && !w->is_spoiled && w->end_ns > w->since_ns)
		choice_note(&w->of[w->class], w->way, w->end_ns - w->since_ns, w->bytes);
}

/* True: a burst begins, of which the way is not known yet. */
static bool join(struct ways *w, size_t size, uint64_t since_ns)
{
	w->open++;
	if (w->open > 1 || (w->n && since_ns <= w->end_ns)) {
		w->n++;
		return false;
	}
	close_burst(w);
	w->class = ways_class(size);
	w->n = 1;
	w->is_spoiled = false;
	w->is_both = false;
	w->bytes = size;
	w->since_ns = since_ns;
	return true;
}

enum way ways_begin(struct ways *w, size_t size, uint64_t since_ns, bool is_both)
{
	bool may_be_alone = join(w, size, since_ns) && !w->were_many;

	/* our messages may all have gone before the last of the other side comes: it is busy with them still */
	w->is_both |= is_both;
	if (may_be_alone)
		w->way = choice_pick(&w->of[w->class]);
	else
		w->way = w->is_both ? WAY_READ : WAY_COPY;
	return w->way;
}

bool ways_note(struct ways *w, size_t size, uint64_t since_ns, enum way way, enum way *ret_next)
{
	if (!join(w, size, since_ns))
		return false;
	w->way = way;
	if (w->were_many)
		return false;
	*ret_next = choice_pick(&w->of[w->class]);
	return true;
}

void ways_end(struct ways *w, uint64_t now_ns)
{
	w->open--;
	w->end_ns = now_ns;
}

void ways_spoil(struct ways *w)
{
	w->is_spoiled = true;
}
