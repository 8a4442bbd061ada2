# SPDX-License-Identifier: BSD-3-Clause
"""svg - the topology of a cluster as a picture: a cell per host in planes, defects marked, names where they fit.

In clusters beyond _CELLS_MAX hosts a row without marks is one bar, so that the picture stays small.
"""

from xml.sax.saxutils import escape, quoteattr

from . import planes
from .values import AXES

_CELLS_MAX = 8192
_NAMED_MAX = 256           # hosts whose names are written into the cells
_LONGEST = 160             # characters of a line of text
_WIDTH = 1400              # of a picture of several planes, about
_MARGIN, _LINE, _TITLE = 20, 18, 20
_FILL = {planes.UP: "#9ccc9c", planes.DEFECT: "#d04040", planes.SPARE: "#e8c840", planes.NONE: "none"}
_STYLE = ("text{font-family:sans-serif;font-size:12px;fill:#222}.n{font-size:9px;text-anchor:middle}"
          ".h{font-size:16px;font-weight:bold}.l{stroke:#5878b0;stroke-width:2}.r{stroke:#b07858;stroke-width:2}"
          "rect{stroke:#456;stroke-width:.5}.e{stroke-dasharray:2}.x{stroke:#fff;stroke-width:1.5}")


class _Cells:
    """How large cells are, and what is drawn in them."""

    def __init__(self, cluster):
        count = len(cluster.hosts)
        self.is_named = count <= _NAMED_MAX
        self.is_each = count <= _CELLS_MAX
        longest = max(len(host.name) for host in cluster.hosts)
        self.width = max(28, 6 * longest + 8) if self.is_named else 10 if self.is_each else 5
        self.height = 22 if self.is_named else 10 if self.is_each else 5
        self.gap = 6 if self.is_named else 1


def _tip(host):
    if host is None:
        return "no host"
    words = [host.name, host.state]
    if host.coords:
        words.append(f"({','.join(map(str, host.coords))})")
    words += [f"{rail.device or rail.subnet} {rail.address or ''} {rail.mac or ''}".strip() for rail in host.rails
              if rail.address or rail.mac]
    return "\n".join(words)


def _rect(x, y, width, height, state, tip):
    extra = ' class="e"' if state == planes.NONE else ""
    return (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{_FILL[state]}"{extra}>'
            f"<title>{escape(tip)}</title></rect>")


def _cell(x, y, host, cells):
    state = planes.state(host)
    yield _rect(x, y, cells.width, cells.height, state, _tip(host))
    if state == planes.DEFECT:
        right, low = x + cells.width, y + cells.height
        yield f'<path class="x" d="M{x} {y}L{right} {low}M{right} {y}L{x} {low}"/>'
    if cells.is_named and host:
        yield f'<text class="n" x="{x + cells.width / 2:g}" y="{y + cells.height / 2 + 3:g}">{escape(host.name)}</text>'


def _lines(x, y, plane, layout, cells):
    """The switches of rows and columns, behind the cells."""
    step_x, step_y = cells.width + cells.gap, cells.height + cells.gap
    rows, columns = len(plane.rows), max(map(len, plane.rows))
    if layout.column_axis and columns > 1:
        for row in range(rows):
            at = y + row * step_y + cells.height / 2
            yield f'<line class="l" x1="{x}" y1="{at:g}" x2="{x + columns * step_x - cells.gap}" y2="{at:g}"/>'
    if layout.row_axis and rows > 1:
        for column in range(columns):
            at = x + column * step_x + cells.width / 2
            yield f'<line class="r" x1="{at:g}" y1="{y}" x2="{at:g}" y2="{y + rows * step_y - cells.gap}"/>'


def _plane(x, y, plane, layout, cells):
    step_x, step_y = cells.width + cells.gap, cells.height + cells.gap
    if plane.at:
        yield f'<text x="{x}" y="{y + 13}">{plane.title()}</text>'
        y += _TITLE
    if cells.is_named:
        yield from _lines(x, y, plane, layout, cells)
    for number, row in enumerate(plane.rows):
        top = y + number * step_y
        if not cells.is_each and planes.is_whole(row):
            tip = f"{row[0].name} to {row[-1].name}, all up"
            yield _rect(x, top, len(row) * step_x - cells.gap, cells.height, planes.UP, tip)
            continue
        for column, host in enumerate(row):
            yield from _cell(x + column * step_x, top, host, cells)


def _size(layout, cells):
    """Of one plane with its title and the gap to the next."""
    plane = layout.planes[0]
    width = max(max(map(len, plane.rows)) * (cells.width + cells.gap), 8 * len(plane.title()))
    return width + 16, len(plane.rows) * (cells.height + cells.gap) + 14 + (_TITLE if plane.at else 0)


def _legend(layout):
    words = []
    if layout.column_axis:
        words.append(f"columns: {layout.column_axis}")
    if layout.row_axis:
        words.insert(0, f"rows: {layout.row_axis}")
    if len(layout.planes) > 1:
        words.append(f"from plane to plane: {', '.join(AXES[:len(layout.planes[0].at)])}")
    return ", ".join(words)


def pieces(cluster, heading):
    """The picture in pieces of text, ASCII."""
    layout, cells = planes.layout(cluster), _Cells(cluster)
    words = [*planes.along(cluster), *filter(None, [_legend(layout)]), *planes.marked(cluster)]
    words = [text if len(text) <= _LONGEST else text[:_LONGEST] + "..." for text in words]
    wide, high = _size(layout, cells)
    across = min(len(layout.planes), max(1, _WIDTH // wide))
    top = _MARGIN + 24 + _LINE * len(words) + 30
    width = max(across * wide + 2 * _MARGIN, 640, 7 * max(map(len, words)) + 2 * _MARGIN)
    height = top + -(-len(layout.planes) // across) * high + _MARGIN
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
           f"<title>{escape(heading)}</title><style>{_STYLE}</style>"
           f'<rect width="{width}" height="{height}" fill="#fff" stroke="none"/>\n')
    yield f'<text class="h" x="{_MARGIN}" y="{_MARGIN + 12}">{escape(heading)}</text>\n'
    for number, text in enumerate(words):
        yield f'<text x="{_MARGIN}" y="{_MARGIN + 36 + _LINE * number}">{escape(text)}</text>\n'
    for number, word in enumerate((planes.UP, planes.DEFECT, planes.SPARE)):
        x = _MARGIN + 90 * number
        yield (f'<rect x="{x}" y="{top - 26}" width="12" height="12" fill={quoteattr(_FILL[word])}/>'
               f'<text x="{x + 18}" y="{top - 16}">{word}</text>\n')
    for number, plane in enumerate(layout.planes):
        x, y = _MARGIN + number % across * wide, top + number // across * high
        yield from (piece + "\n" for piece in _plane(x, y, plane, layout, cells))
    yield "</svg>\n"
