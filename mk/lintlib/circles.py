# SPDX-License-Identifier: BSD-3-Clause
"""Files of a directory that call each other in a circle: who changes one of them has to read them all.

Calls are those that nm shows in the objects of a build, between files of one directory. The largest
set of files that all reach each other may not be larger than the directory's ceiling in mk/circles.
The set is found as in Tarjan, "Depth-first search and linear graph algorithms", 1972. The ceiling
may be no higher than that set: ceilings only fall.
"""
import os

from lintlib.tree import Skip, need

CEILINGS = "mk/circles"
NONE = 1  # a file by itself


def objects(tree):
    """Object files of product sources that are not newer, by source: {"pmcore/channel/ack.c": path}."""
    found = {}
    base = os.path.join(tree.build, "obj")
    for directory, _, names in os.walk(base):
        for name in names:
            source = os.path.relpath(os.path.join(directory, name), base)[:-2] + ".c"
            path = os.path.join(directory, name)
            if (name.endswith(".o") and source in tree.files and not source.startswith("tests/")
                    and os.path.getmtime(path) >= os.path.getmtime(tree.path(source))):
                found[source] = path
    return found


def read_symbols(output):
    """From "FILE:ADDRESS TYPE NAME" lines of nm -A: {file: (functions it defines, symbols it wants)}."""
    symbols = {}
    for line in output.splitlines():
        path, _, rest = line.rpartition(":")
        words = rest.split()
        if len(words) < 2:
            continue
        kind, name = words[-2], words[-1]
        defines, wants = symbols.setdefault(path, (set(), set()))
        if kind == "U":
            wants.add(name)
        elif kind in "TW":
            defines.add(name)
    return symbols


def calls(symbols):
    """{file: files that it calls}, of one directory."""
    home = {name: path for path, (defines, _) in symbols.items() for name in defines}
    return {path: {home[name] for name in wants if name in home and home[name] != path}
            for path, (_, wants) in symbols.items()}


def circles(graph):
    """The strongly connected sets of a graph {node: nodes}, each sorted. Without recursion, as chains may be long."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found


def is_whole(tree, directory, built):
    """Were all files of the directory built? A part that lacks its packages is not."""
    return all(name in built for name in tree.files
               if os.path.dirname(name) == directory and name.endswith(".c"))


def largest(tree):
    """{directory: (its largest circle, whether all of it was built)}; without a circle that is one file."""
    built, by_directory, result = objects(tree), {}, {}
    for source, path in built.items():
        by_directory.setdefault(os.path.dirname(source), {})[path] = source
    for directory, names in sorted(by_directory.items()):
        output, code = tree.run(["nm", "-A", *names])
        if code:
            raise Skip(f"nm cannot read the objects of {directory}: {output.strip().splitlines()[-1]}")
        graph = calls({names[path]: value for path, value in read_symbols(output).items() if path in names})
        result[directory] = max(circles(graph), key=len, default=[]), is_whole(tree, directory, built)
    return result


def read_ceilings(text):
    """Lines "DIRECTORY FILES"; # begins a remark."""
    rows = (line.split("#")[0].split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def check(tree):
    if CEILINGS not in tree.files:
        raise Skip(f"no {CEILINGS}")
    need("nm", "binutils")
    if not os.path.isdir(os.path.join(tree.build, "obj")):
        raise Skip("nothing is built: run make")
    ceilings = read_ceilings(tree.text(CEILINGS))
    for directory, (circle, is_complete) in largest(tree).items():
        ceiling = ceilings.get(directory, NONE)
        if len(circle) > max(ceiling, NONE):
            names = " ".join(os.path.basename(name) for name in circle)
            yield f"{directory}: {len(circle)} files call each other in a circle, {ceiling} may: {names}"
        elif is_complete and max(len(circle), NONE) < ceiling:
            yield f"{CEILINGS}: {directory} has circles of at most {max(len(circle), NONE)} files: lower its {ceiling}"
    c_files = (name for name in tree.files if name.endswith(".c"))
    sources = {os.path.dirname(name) for name in (*c_files, *tree.python_files())}
    for directory in sorted(set(ceilings) - sources):
        yield f"{CEILINGS}: {directory} has no sources"
