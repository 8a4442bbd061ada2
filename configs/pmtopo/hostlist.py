# SPDX-License-Identifier: BSD-3-Clause
"""hostlist - bracket ranges such as "n[000-063/2],io[1-2]": expand, count, fold.

Owns the grammar, which cluster/hostlist.c shares (tests/golden/hostlist.json feeds both).
Knows nothing of clusters: names are text.
"""

from pmharmless import harmless

MAX_NAMES = 1 << 20
MAX_NAME = 255
MAX_DIGITS = 18

# No regular expressions: to load them takes longer than a command of scout has for its hosts.
_DIGITS = "0123456789"
_HEX_DIGITS = _DIGITS + "abcdefABCDEF"
_LITERAL = frozenset(_DIGITS + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-")
_ADDRESS_LITERAL = _LITERAL | {":"}


class HostlistError(ValueError):
    """Text that is no host list: at (offset of the fault) and why with the remedy."""

    def __init__(self, at, why):
        super().__init__(why)
        self.at = at
        self.why = why


class _Run:
    """One range of a bracket: the numbers first, first+step, .. printed with width digits."""

    __slots__ = ("first", "step", "count", "width")

    def __init__(self, first, last, step, width):
        self.first = first
        self.step = step
        self.count = (last - first) // step + 1
        self.width = width


def _is_of(text, letters):
    """Whether it is made of these, one at least."""
    return bool(text) and not text.strip(letters)


def _run(text, at, base):
    low, dash, rest = text.partition("-")
    high, slash, step = rest.partition("/") if dash else (low, "", "")
    digits = _DIGITS if base == 10 else _HEX_DIGITS
    if not (_is_of(low, digits) and _is_of(high, digits) and (_is_of(step, _DIGITS) or not slash)):
        raise HostlistError(at, f'"{harmless(text[:40])}" is no range: write a number, 1-9 or 1-9/2')
    if len(low) > MAX_DIGITS or len(high) > MAX_DIGITS or len(step) > MAX_DIGITS:
        raise HostlistError(at, f"a number has more than {MAX_DIGITS} digits")
    padded = any(len(number) > 1 and number[0] == "0" for number in (low, high))
    if padded and len(low) != len(high):
        width = max(len(low), len(high))
        raise HostlistError(at, "both ends of a zero-padded range need the same number of digits: "
                            f"write {low.zfill(width)}-{high.zfill(width)}")
    first, last = int(low, base), int(high, base)
    if last < first:
        raise HostlistError(at, f"the range runs backwards: write {high}-{low}")
    if slash and int(step) == 0:
        raise HostlistError(at, "the step is 0: write 1 or more")
    width = len(low) if padded or base == 16 else 0
    return _Run(first, last, int(step or 1), width)


def _bracket(text, at, base):
    """The runs of the bracket whose content begins at offset at, and the offset behind it."""
    end = text.find("]", at)
    if end < 0:
        raise HostlistError(at - 1, 'the "[" is not closed: add "]"')
    runs = []
    for part in text[at:end].split(","):
        runs.append(_run(part, at, base))
        at += len(part) + 1
    return runs, end + 1


def _item(text, at, base):
    """One item as a list of literals (str) and brackets (lists of runs), and the offset behind."""
    letters = _LITERAL if base == 10 else _ADDRESS_LITERAL
    parts = []
    while at < len(text) and text[at] not in ", \t":
        if text[at] == "[":
            runs, at = _bracket(text, at + 1, base)
            parts.append(runs)
            continue
        start = at
        while at < len(text) and text[at] in letters:
            at += 1
        if at == start:
            if text[at] == "]":
                raise HostlistError(at, 'a "]" without "["')
            raise HostlistError(at, f'"{harmless(text[at])}" cannot be part of a name: '
                                "use letters, digits, . _ -")
        parts.append(text[start:at])
    return parts, at


def _skip_blanks(text, at):
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _count_item(parts):
    count = 1
    for part in parts:
        if isinstance(part, list):
            count *= sum(run.count for run in part)
    return count


def _check_length(parts, at):
    longest = 0
    for part in parts:
        if isinstance(part, str):
            longest += len(part)
        else:
            longest += max(max(run.width, len(str(run.first + (run.count - 1) * run.step)))
                           for run in part)
    if longest > MAX_NAME:
        raise HostlistError(at, f"a name has more than {MAX_NAME} characters")


def parse(text, base=10):
    """The items of a list, each a list of parts. base 16: brackets count in hexadecimal."""
    items = []
    total = 0
    at = _skip_blanks(text, 0)
    if at == len(text):
        raise HostlistError(0, "the list is empty: write at least one name")
    while True:
        start = at
        parts, at = _item(text, at, base)
        if not parts:
            raise HostlistError(at, "a name is missing before or after a comma")
        _check_length(parts, start)
        total += _count_item(parts)
        if total > MAX_NAMES:
            raise HostlistError(start, f"the list names more than {MAX_NAMES} hosts")
        items.append(parts)
        at = _skip_blanks(text, at)
        if at == len(text):
            return items
        if text[at] != ",":
            raise HostlistError(at, "names are separated by commas")
        at = _skip_blanks(text, at + 1)


def _digits(run, base):
    spec = f"0{run.width}{'x' if base == 16 else 'd'}"
    last = run.first + run.count * run.step
    return [format(number, spec) for number in range(run.first, last, run.step)]


def _expand_item(parts, base):
    names = [""]
    for part in parts:
        if isinstance(part, str):
            names = [name + part for name in names]
        else:
            tails = [digits for run in part for digits in _digits(run, base)]
            names = [name + tail for name in names for tail in tails]
    return names


def expand(text, base=10):
    """All names of the list, in order; the last bracket of an item changes fastest."""
    names = []
    for parts in parse(text, base):
        names.extend(_expand_item(parts, base))
    return names


def _fold_run(prefix, numbers):
    """numbers: digit strings, all of one padding, consecutive in groups."""
    ranges = []
    start = previous = numbers[0]
    for number in numbers[1:] + [None]:
        if number is not None and int(number) == int(previous) + 1:
            previous = number
            continue
        ranges.append(start if start == previous else f"{start}-{previous}")
        start = previous = number
    if len(ranges) == 1 and "-" not in ranges[0]:
        return prefix + ranges[0]
    return f"{prefix}[{','.join(ranges)}]"


def _same_padding(left, right):
    padded = (left[0] == "0" and len(left) > 1) or (right[0] == "0" and len(right) > 1)
    return len(left) == len(right) or not padded


def fold(names):
    """The shortest obvious list of the names, in their order: n0,n1,n2,x -> n[0-2],x."""
    out = []
    prefix, numbers = None, []

    def flush():
        if numbers:
            out.append(_fold_run(prefix, list(numbers)))
            numbers.clear()

    for name in names:
        head = name.rstrip(_DIGITS)
        digits = name[len(head):]
        if not 0 < len(digits) <= MAX_DIGITS:
            flush()
            out.append(name)
            continue
        if numbers and (head != prefix or not _same_padding(numbers[-1], digits)
                        or not _same_padding(numbers[0], digits)):
            flush()
        prefix = head
        numbers.append(digits)
    flush()
    return ",".join(out)
