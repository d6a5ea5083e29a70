"""The earlier name of `duecourse restore-table`, with the same arguments; it goes with the next release."""

import sys

from duecourse.cli.commands.restore_table import restore_table

if __name__ == "__main__":
    print("scripts.put_back is `duecourse restore-table` now; this name goes with the next release", file=sys.stderr)
    restore_table(prog_name="duecourse restore-table")
