"""What is noticed while the input is read, for the report and the manifest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from marius_lite.graph.manifest import Source
from marius_lite.preprocess.gather.bad_rows import warning
from marius_lite.preprocess.readers.raw import BadRow

EXAMPLES = 10
MOST_REASONS = 100


@dataclass
class InputFacts:
    """``rows``: edges that were read; ``skipped``: bad rows by reason, with ``examples``; ``read_as``: files by the way they were
    read; ``misread``: a line for each sign that input was taken for what it is not. ``columns``: 2, or 3 with relations, in all
    files; ``carried``: the columns that edges carry beside their ids; both None before the first edges."""

    rows: int = 0
    comments: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    self_loops_dropped: int = 0
    columns: int | None = None
    carried: tuple[str, ...] | None = None
    sources: list[Source] = field(default_factory=list)
    read_as: Counter[str] = field(default_factory=Counter)
    misread: list[str] = field(default_factory=list)
    titles: tuple[str, ...] = ()  # of source and destination, in the first file that has any
    announced: bool = False  # a file says which nodes exist, perhaps without edges

    @property
    def warnings(self) -> list[str]:
        skipped = warning(self.skipped.total(), self.rows + self.skipped.total())
        return [*([] if skipped is None else [skipped]), *self.misread]

    def note_bad(self, bad: list[BadRow]) -> None:
        """Count bad rows by their reasons, and keep the first as examples."""
        for row in bad:
            known = row.reason in self.skipped or len(self.skipped) < MOST_REASONS
            self.skipped[row.reason if known else "other reasons"] += 1
        self.examples += [str(row) for row in bad[: EXAMPLES - len(self.examples)]]
