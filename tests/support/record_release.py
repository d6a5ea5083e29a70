"""Records what a release writes: `make record-release NAME=…`, once for each release, when it is made.

    python -m tests.support.record_release NAME [--tree FOLDER]

The code of the tree (this one unless given) plays tests/support/release/scene.py on an emulator, then carries the scene
on to its end. tests/fixtures/releases/NAME keeps the tables, the messages, what the items meant to that code and how
everything ended; of the newest release the code itself and its stage, too. tests/compat holds later code against that.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support import emulators
from tests.support.public_names import public
from tests.support.release_code import RELEASES, ROOT, ask, pack, releases
from tests.support.release_stage import pack_stage
from tests.support.tables import create_tables
from tests.support.template import table_definitions

PARTS = ("jobs", "runs", "messages", "dead_letters", "shard_queue", "meanings", "endings")


def record(name: str, tree: Path) -> None:
    """Write the fixtures of one release."""
    folder = RELEASES / name
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "code.zip"
    pack_stage(tree, folder / "stage.zip")  # writes the tree's generated files, which are part of its code
    pack(tree, archive)
    with TemporaryDirectory(prefix="duecourse-release-") as scratch, emulators.ministack(Path(scratch)) as endpoint:
        scene = ask(archive, "play", tables=fresh_tables(endpoint))
        scene["endings"] = ask(archive, "carry on", definitions=table_definitions(), scene=scene)
    if tree == ROOT:  # the names of another tree cannot be read by this code
        (folder / "public.json").write_text(json.dumps(public(), indent=0, sort_keys=True) + "\n")
    for part in PARTS:
        write(folder / f"{part}.json", scene[part])
    for other in RELEASES.glob("*/*.zip"):
        if other.parent.name != releases()[-1]:  # a deployment has the newest release beside it, and no older one
            other.unlink()


def fresh_tables(endpoint: str) -> list[str]:
    """Endpoint and names of new tables. Their schema has never changed (test_stateful_resources.py)."""
    made = create_tables(emulators.client("dynamodb", endpoint))
    return [endpoint, made.jobs, made.runs]


def write(path: Path, what: Any) -> None:
    """JSON that a diff can be read of: an item, a message or a fact a line."""
    if isinstance(what, list):
        lines = ",\n".join(json.dumps(each, sort_keys=True) for each in what)
        path.write_text(f"[\n{lines}\n]\n")
    else:
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(what[key], sort_keys=True)}" for key in sorted(what))
        path.write_text(f"{{\n{lines}\n}}\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--tree", type=Path, default=ROOT, help="where the release's code lies")
    given = parser.parse_args()
    record(given.name, given.tree.resolve())


if __name__ == "__main__":
    main()
