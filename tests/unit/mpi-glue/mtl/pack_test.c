// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_pack: which data are in one piece, which have a layout, and that no byte is lost between
 * memory and datagrams.
 */
#include <string.h>

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define BLOCKS 20
#define BLOCK 12
#define STRIDE 32
#define BYTES ((size_t)BLOCKS * BLOCK)

static char memory[2 * BLOCKS * STRIDE], packed[2 * BLOCKS * STRIDE];

static void fill(void)
{
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (char)(i * 13 + i / 256);
	memset(packed, 0, sizeof(packed));
}

/* Byte @i of the packed vector, in memory. */
static size_t place(size_t i)
{
	return i / BLOCK * STRIDE + i % BLOCK;
}

TAP_TEST(data_of__one_piece_and_none)
{
	struct opal_datatype_t *type = fake_vector(BLOCKS, BLOCK, STRIDE);
	struct opal_convertor_t c;

	fake_pack_bytes(&c, memory, 100);
	ok(mtl_pm_data_of(&c) == memory);
	OBJ_DESTRUCT(&c);
	fake_pack(&c, type, 1, memory);
	ok(!mtl_pm_data_of(&c));
	OBJ_DESTRUCT(&c);
	/* No bytes are always in one piece, wherever they lie. */
	fake_pack_bytes(&c, NULL, 0);
	ok(mtl_pm_data_of(&c) != NULL);
	OBJ_DESTRUCT(&c);
	fake_pack(&c, type, 0, NULL);
	ok(mtl_pm_data_of(&c) != NULL);
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
}

/* Bytes that begin behind the address the program gave. */
static struct opal_datatype_t *behind(ptrdiff_t at)
{
	struct opal_datatype_t *type = fake_type();

	opal_datatype_add(type, &opal_datatype_uint1, BLOCK, at, 1);
	opal_datatype_commit(type);
	return type;
}

TAP_TEST(data_of__a_lower_bound)
{
	struct opal_datatype_t *type = behind(24);
	struct opal_convertor_t c;

	fake_pack(&c, type, 1, memory);
	ok(mtl_pm_data_of(&c) == memory + 24);
#if OMPI_MAJOR_VERSION < 5
	/* pml/cm adds it itself where it leaves the convertor half filled in. */
	c.flags &= ~(uint32_t)CONVERTOR_SEND;
	c.pBaseBuf += 24;
	ok(mtl_pm_data_of(&c) == memory + 24);
#endif
	OBJ_DESTRUCT(&c);
	fake_unpack(&c, type, 1, memory);
	ok(mtl_pm_room_of(&c) == memory + 24);
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
}

TAP_TEST(room_of__one_piece_and_none)
{
	struct opal_datatype_t *type = fake_vector(BLOCKS, BLOCK, STRIDE);
	struct opal_convertor_t c;

	fake_unpack(&c, type, 1, memory);
	ok(!mtl_pm_room_of(&c));
	OBJ_DESTRUCT(&c);
	fake_unpack(&c, type, 0, NULL);
	ok(mtl_pm_room_of(&c) != NULL);
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
}

TAP_TEST(pack__a_vector_in_parts_of_each_length)
{
	struct opal_datatype_t *type = fake_vector(BLOCKS, BLOCK, STRIDE);
	struct opal_convertor_t c;

	for (size_t part = 1; part <= 2 * BYTES; part++) {
		struct mtl_pm_send s = {.has_layout = true};
		size_t done = 0;

		fill();
		fake_pack(&c, type, 2, memory);
		must(mtl_pm_begin_layout(&c, &s.walk));
		while (done < 2 * BYTES) {
			size_t left = 2 * BYTES - done, n = left < part ? left : part;

			is_int(mtl_pm_pack(&s, packed + done, n), n);
			done += n;
		}
		for (size_t i = 0; i < 2 * BYTES; i++) {
			size_t from = i / BYTES * (place(BYTES - 1) + 1) + place(i % BYTES);

			if (!okf(packed[i] == memory[from], "parts of %zu: byte %zu", part, i))
				break;
		}
		OBJ_DESTRUCT(&c);
	}
	opal_datatype_destroy(&type);
}

TAP_TEST(pack__elements_of_two_blocks)
{
	struct opal_datatype_t *one = fake_type(), *all = fake_type();
	struct opal_convertor_t c;
	struct mtl_pm_send s = {.has_layout = true};

	/* Four bytes, and eight at 10; five of that at a distance of 40. */
	opal_datatype_add(one, &opal_datatype_uint1, 4, 0, 1);
	opal_datatype_add(one, &opal_datatype_uint1, 8, 10, 1);
	opal_datatype_add(all, one, 5, 0, 40);
	opal_datatype_commit(all);
	opal_datatype_destroy(&one);
	fill();
	fake_pack(&c, all, 1, memory);
	must(mtl_pm_begin_layout(&c, &s.walk));
	is_int(mtl_pm_pack(&s, packed, 100), 60);
	for (size_t i = 0; i < 5; i++) {
		is_mem(packed + i * 12, memory + i * 40, 4);
		is_mem(packed + i * 12 + 4, memory + i * 40 + 10, 8);
	}
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&all);
}

TAP_TEST(begin_layout__only_what_it_can_describe)
{
	struct opal_datatype_t *type = fake_vector(BLOCKS, BLOCK, STRIDE), *irregular;
	struct opal_convertor_t c;
	struct layout_walk walk;

	fake_pack(&c, type, 1, memory);
	ok(mtl_pm_begin_layout(&c, &walk));
	/* Bytes of another order of bytes go through the convertor. */
	c.flags &= ~(uint32_t)CONVERTOR_HOMOGENEOUS;
	ok(!mtl_pm_begin_layout(&c, &walk));
	c.flags |= CONVERTOR_HOMOGENEOUS;
	/* A description that lost bytes is none. */
	c.local_size++;
	ok(!mtl_pm_begin_layout(&c, &walk));
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
	/* Blocks of different lengths are one run each. */
	for (ptrdiff_t runs = 1; runs <= LAYOUT_RUNS + 1; runs++) {
		irregular = fake_type();
		for (ptrdiff_t i = 0; i < runs; i++)
			opal_datatype_add(irregular, &opal_datatype_uint1, 3 + (size_t)i,
					  10 * i * i, 1);
		opal_datatype_commit(irregular);
		fake_pack(&c, irregular, 2, memory);
		ok(mtl_pm_begin_layout(&c, &walk) == (runs <= LAYOUT_RUNS));
		OBJ_DESTRUCT(&c);
		opal_datatype_destroy(&irregular);
	}
}

TAP_TEST(unpack__each_way_and_no_byte)
{
	struct opal_datatype_t *type = fake_vector(BLOCKS, BLOCK, STRIDE);
	struct opal_convertor_t c;

	for (int has_layout = 0; has_layout < 2; has_layout++) {
		struct mtl_pm_receive r = {.target = &c, .has_layout = has_layout};

		for (size_t i = 0; i < BYTES; i++)
			packed[i] = (char)(i + 1);
		memset(memory, 0, sizeof(memory));
		fake_unpack(&c, type, 1, memory);
		ok(mtl_pm_begin_layout(&c, &r.walk));
		mtl_pm_unpack(&r, NULL, 0);
		mtl_pm_unpack(&r, packed, 17);
		is_int(r.got, 17);
		mtl_pm_unpack(&r, packed + 17, BYTES - 17);
		is_int(r.got, BYTES);
		for (size_t i = 0; i < BYTES; i++)
			is_int(memory[place(i)], packed[i]);
		/* Nothing between the blocks. */
		for (size_t i = 0; i < BLOCKS; i++)
			is_int(memory[i * STRIDE + BLOCK], 0);
		OBJ_DESTRUCT(&c);
	}
	opal_datatype_destroy(&type);
}

TAP_TEST(unpack__one_piece_goes_on_where_it_was)
{
	struct mtl_pm_receive r = {.data = memory};

	memset(memory, 0, sizeof(memory));
	mtl_pm_unpack(&r, "abc", 3);
	mtl_pm_unpack(&r, "defg", 4);
	is_mem(memory, "abcdefg\0", 8);
	is_int(r.got, 7);
}

TAP_TEST(pack__by_the_convertor)
{
	struct opal_datatype_t *type = fake_vector(BLOCKS, BLOCK, STRIDE);
	struct opal_convertor_t c;
	struct mtl_pm_send s = {.source = &c};

	fill();
	fake_pack(&c, type, 1, memory);
	is_int(mtl_pm_pack(&s, packed, 100), 100);
	is_int(mtl_pm_pack(&s, packed + 100, 1000), BYTES - 100);
	for (size_t i = 0; i < BYTES; i++)
		is_int(packed[i], memory[place(i)]);
	OBJ_DESTRUCT(&c);
	opal_datatype_destroy(&type);
}
