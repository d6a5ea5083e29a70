"""The console's files as they are built: by npm, compressed, the same bytes from the same sources."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.console_files import build, built_files, sources
from tests.support.template import ROOT

COMPRESS = ROOT / "console" / "compress.mjs"
SCRIPT = "console/index-AbCd1234.js"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def compressed(tmp_path: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """Compresses a build of files that hold their names, into `files`."""
    for name in names:
        (tmp_path / "built" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "built" / name).write_text(name * 100)
    node = shutil.which("node")
    assert node is not None
    command = [node, str(COMPRESS), str(tmp_path / "built"), str(tmp_path / "files")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_console_files_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    build(tmp_path / "again")
    kept = contents(built_files())
    assert {"index.html.br", "index.html.gz"} <= set(kept)
    assert contents(tmp_path / "again") == kept


def test_console_files_are_stored_flat_in_both_encodings(tmp_path: Path) -> None:
    done = compressed(tmp_path, "index.html", SCRIPT, "console/font-AbCd_12-.woff2")
    assert done.returncode == 0, done.stderr
    files = contents(tmp_path / "files")
    names = ("index.html", "index-AbCd1234.js", "font-AbCd_12-.woff2")
    assert set(files) == {f"{name}{ending}" for name in names for ending in (".br", ".gz")}
    assert gzip.decompress(files["index-AbCd1234.js.gz"]).decode() == SCRIPT * 100
    assert files["index-AbCd1234.js.gz"][4:8] == bytes(4), "no time in it"


@pytest.mark.parametrize(
    "name", ["console/index.js", "console/index-AbCd1234.js.map", "robots.txt", "console/deeper/index-AbCd1234.js"]
)
def test_console_files_that_are_uncacheable_or_unserved_fail_the_build(tmp_path: Path, name: str) -> None:
    done = compressed(tmp_path, "index.html", name)
    assert done.returncode == 1
    assert f"what is not served: {name}" in done.stderr
    assert not (tmp_path / "files").exists()


def test_console_files_build_without_a_page_is_refused(tmp_path: Path) -> None:
    assert "built no index.html" in compressed(tmp_path, SCRIPT).stderr


def test_console_files_sources_are_page_code_api_description_and_lock_file(tmp_path: Path) -> None:
    read = [
        "clients/typescript/src/client.ts",
        "console/src/distance.ts",
        "console/src/main.tsx",
        "console/vite.config.ts",
        "layers/duecourse/python/duecourse/api/openapi/openapi.json",
        "package-lock.json",
    ]
    made = ["console/node_modules/part/index.js", "console/dist/index.html", "clients/typescript/src/schema.ts"]
    for name in [*read, *made, "console/.cache/x", "README.md"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert sorted(str(path.relative_to(tmp_path)) for path in sources(tmp_path)) == read
