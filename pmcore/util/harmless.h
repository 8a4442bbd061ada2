/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * harmless - texts of other people, fit for a terminal. The one place in C that says which
 * characters are not; configs/pmharmless.py says the same for programs in Python.
 */
#ifndef PM_UTIL_HARMLESS_H
#define PM_UTIL_HARMLESS_H

/*
 * Puts one '?' in the place of each character that commands a terminal, or turns the direction of a
 * line, or can't be seen, and in that of each byte that is no UTF-8. Tabs stay, ends of lines
 * don't. The text gets no longer.
 */
void harmless_make(char *text);

#endif
