"""A new clone has no generated files: what needs them writes them, or names the remedy."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from scripts.generated import DOCUMENT, FILES, PACKAGE, STAMP
from tests.support.distributions import link, needed
from tests.support.template import ROOT
from tests.support.tree_copy import Copy

IN_PACKAGE = {str((ROOT / name).relative_to(PACKAGE)) for name in FILES if (ROOT / name).is_relative_to(PACKAGE)}

SYNTHESISE = """
import json, sys
from pathlib import Path
from infra.application import build
from infra.bundling import Target, install_core
context = json.loads(Path("cdk.json").read_text())["context"]
build(outdir=sys.argv[1], context={**context, "stage": "local", "aws:cdk:bundling-stacks": []}).synth()
install_core(Target.host(), Path(sys.argv[2]))
"""


@pytest.fixture
def clone(tmp_path: Path) -> Copy:
    """A new clone, with Node's packages."""
    return Copy(tmp_path / "clone")


def of_clone(clone: Copy, name: str) -> bytes:
    return (clone.folder / name).read_bytes()


def test_new_clone_builds_a_wheel_with_only_the_declared_packages(clone: Copy, tmp_path: Path) -> None:
    requires = tomllib.loads(of_clone(clone, "pyproject.toml").decode())["build-system"]["requires"]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "isolated")], check=True)
    (site,) = (tmp_path / "isolated").glob("lib/python*/site-packages")
    link(site, needed(requires))
    (tmp_path / "isolated/bin/ruff").symlink_to(Path(sys.executable).with_name("ruff"))
    build = f"from hatchling.build import *; build_wheel({str(tmp_path)!r}); build_sdist({str(tmp_path)!r})"
    command = [str(tmp_path / "isolated/bin/python"), "-c", build]
    subprocess.run(command, cwd=clone.folder, env={}, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        assert set(archive.namelist()) >= IN_PACKAGE
        assert {name: archive.read(name) for name in IN_PACKAGE} == {
            name: (PACKAGE / name).read_bytes() for name in IN_PACKAGE
        }
    (packed,) = tmp_path.glob("*.tar.gz")
    names = subprocess.run(["tar", "-tzf", str(packed)], capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(FILES) <= {name.partition("/")[2] for name in names}


def test_new_clone_synthesises_what_the_functions_serve(clone: Copy, tmp_path: Path) -> None:
    clone.python("-c", SYNTHESISE, str(tmp_path / "out"), str(tmp_path / "layer"))
    built = tmp_path / "layer" / Path(DOCUMENT).relative_to("layers/duecourse")
    assert built.read_bytes() == (ROOT / DOCUMENT).read_bytes()
    assert all((clone.folder / name).is_file() for name in FILES)


def test_new_clone_names_the_remedy_if_the_typescript_client_is_built_first(clone: Copy) -> None:
    command = ["node", "clients/typescript/types.mjs"]
    done = subprocess.run(command, cwd=clone.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("is missing: run make setup in the root of the repository\n")


def test_new_clone_writes_generated_files_again_after_an_edit_and_only_then(clone: Copy) -> None:
    stamp = clone.folder / STAMP.relative_to(ROOT)
    clone.python("-m", "scripts.generated")
    first = stamp.stat().st_ino
    clone.python("-m", "scripts.generated")
    assert stamp.stat().st_ino == first
    route = clone.folder / PACKAGE.relative_to(ROOT) / "duecourse/api/openapi/served.py"
    route.write_text(route.read_text().replace("Read the OpenAPI document.", "Read the changed document."))
    (clone.folder / FILES[-1]).unlink()
    clone.python("-m", "scripts.generated")
    summary = json.loads(of_clone(clone, DOCUMENT))["paths"]["/v1/openapi.json"]["get"]["summary"]
    assert summary == "Read the changed document"
    assert of_clone(clone, FILES[-1]) == (ROOT / FILES[-1]).read_bytes()


def test_new_clone_generation_reports_an_error_of_the_code(clone: Copy) -> None:
    route = clone.folder / PACKAGE.relative_to(ROOT) / "duecourse/api/openapi/served.py"
    route.write_text("import nothing_of_this_name\n")
    program = "from scripts.generated import *\ntry: refresh()\nexcept GenerationError as error: print(error)"
    said = clone.python("-c", program)
    assert "could not be written; correct this error (if a package is missing: run make setup):" in said
    assert "nothing_of_this_name" in said
