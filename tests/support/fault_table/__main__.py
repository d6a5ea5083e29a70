"""`make faults`: play everything, and write tests/fixtures/faults.md. Six minutes; only the stories that are named:

python -m tests.support.fault_table fires retries
"""

import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.support.fault_table.page import PAGE, WRONG, kept_sections, named, page, rows, section
from tests.support.fault_table.stories import STORIES


def _section(name: str) -> str:
    return section(named(name), rows(named(name)))


def main() -> None:
    """The command."""
    names = sys.argv[1:] or [story.name for story in STORIES]
    sections = kept_sections()
    with ProcessPoolExecutor(max_workers=2) as processes:
        under_way = {processes.submit(_section, name): name for name in names}
        for done in as_completed(under_way):
            name = under_way[done]
            sections[name] = done.result()
            PAGE.write_text(page(sections))
            sys.stdout.write(f"{name}: {sections[name].count(WRONG)} of its cells are wrong\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
