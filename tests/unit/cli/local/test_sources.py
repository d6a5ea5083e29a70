"""The digest of what the CDK app is made from: it says when nothing has to be synthesised again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from duecourse.cli.local.project import digest


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("app.py", "cdk.json", "package-lock.json", "README.md"):
        (tmp_path / name).write_text(name)
    for name in (
        "requirements/dev.txt",
        "infra/stack.py",
        "functions/tick/handler.py",
        "layers/core/python/core.py",
        "console/src/page.ts",
        "console/node_modules/part/part.js",
        "console/src/api/schema.ts",
        "tests/test_it.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "app.py",
        "cdk.json",
        "console/src/page.ts",
        "package-lock.json",
        "requirements/dev.txt",
        "infra/stack.py",
        "functions/tick/handler.py",
    ],
)
def test_the_digest_of_sources_changes_with_every_file_that_synthesis_reads(checkout: Path, name: str) -> None:
    before = digest(checkout)
    assert digest(checkout) == before

    (checkout / name).write_text("something else")

    assert digest(checkout) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "infra/new.py").write_text(""),
        lambda root: (root / "infra/stack.py").rename(root / "infra/renamed.py"),
        lambda root: (root / "layers/core/python/core.py").unlink(),
        lambda root: (root / "cdk.context.json").write_text("{}"),
        lambda root: (root / "settings").mkdir() or (root / "settings/local.json").write_text("{}"),
    ],
)
def test_the_digest_of_sources_changes_with_files_that_come_go_or_move(
    checkout: Path, change: Callable[[Path], object]
) -> None:
    before = digest(checkout)

    change(checkout)

    assert digest(checkout) != before


def test_the_digest_of_sources_stays_where_something_else_changes(checkout: Path) -> None:
    before = digest(checkout)

    (checkout / "README.md").write_text("")
    (checkout / "tests/test_it.py").unlink()
    (checkout / "console/node_modules/part/part.js").write_text("")
    (checkout / "console/src/api/schema.ts").write_text("made by the build")
    (checkout / "infra/__pycache__").mkdir()
    (checkout / "infra/__pycache__/stack.pyc").write_bytes(b"x")
    (checkout / "layers/.DS_Store").write_bytes(b"x")

    assert digest(checkout) == before


def test_the_digest_of_sources_follows_links_as_synthesis_does(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    linked = tmp_path_factory.mktemp("linked")
    for entry in checkout.iterdir():
        (linked / entry.name).symlink_to(entry)

    assert digest(linked) == digest(checkout)
