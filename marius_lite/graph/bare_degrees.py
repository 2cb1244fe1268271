"""Whether nodes without features are told by how many neighbours they have: who leads a team, which airport is busy.

Rows that are mixed over several hops say where a node is. They say nothing of that.
"""

from __future__ import annotations

from dataclasses import dataclass

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.first_hops import WIDTH, as_begun, drawn_rows, most_hops, walked
from marius_lite.graph.linear_test import clear, linear_test
from marius_lite.graph.symmetry import each_end
from marius_lite.graph.whole_lists import UnitOf, degree_columns, whole_lists, whole_width


@dataclass(frozen=True)
class CountedRows:
    """``share``: of validation nodes that linear models tell right (see `linear_test`) by mixed first rows and, beside them, the
    number of a node's neighbours, of which there are ``neighbours`` on average; ``before``: by these rows alone. ``alone``: by
    the numbers of a node's neighbours and of theirs over two hops. ``rare``: whether these are ROC AUCs, see `LinearTest`."""

    share: float
    before: float
    neighbours: float
    alone: float
    rare: bool

    @property
    def tell_all(self) -> bool:
        """Whether rows say nothing beside numbers of neighbours, but hide what these say: they would be learned by heart."""
        return self.alone >= self.share


def counted_rows(dataset: Dataset, directions: str, unit_of: UnitOf, hops: int, memory: int = 0) -> CountedRows | None:
    """Try first rows of so many ``hops`` along ``directions``, as `model.directions`, without and with numbers of neighbours.

    None where these are not clearly better, and where nothing can be said: large graphs, few nodes, or nodes of several classes.
    ``unit_of``, ``memory``: see `graph.hops.tried`. Raises UserError for a damaged dataset, RunError for a file that cannot be
    read.
    """
    width, ends = min(WIDTH, whole_width(dataset, memory)), each_end(directions)
    test = linear_test(dataset) if width and most_hops(dataset, ends, width, hops) == hops else None
    if test is None or test.several:
        return None
    lists = whole_lists(dataset, unit_of(dataset)).facing(directions)
    rows = as_begun(walked(drawn_rows(dataset.manifest.nodes, width), lists, hops))
    rows, degrees = lists.mixed(lists.mixed(rows)), lists.counts()
    mean = float(degrees.mean())
    seen = degree_columns(degrees, mean)
    near = lists.means(seen)
    before, share, alone = test.of(rows), test.of(rows, seen), test.of(seen, near, lists.means(near), hidden=True)
    found = CountedRows(share, before, mean, alone, test.rare)
    return found if clear(max(share, alone), before, test.asked) else None
