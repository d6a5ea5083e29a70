"""The layers and functions of a stage on AWS, built for the wheel `duecourse-stage`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from infra import prebuilt
from infra.bundling import (
    FUNCTIONS,
    LAMBDA_PYTHON,
    LOCK,
    SERVICES,
    Made,
    Target,
    core,
    dependencies,
    digest,
    function,
    install_packages,
    prune,
)
from infra.console_files import console
from infra.construct import feature_flags


def write(folder: Path) -> None:
    """Write the zip files and their index to `folder`. Raises BundlingError."""
    target = Target.lambda_arm64(LAMBDA_PYTHON)
    folder.mkdir(parents=True)
    contents = dict(made(target))
    for name, content in contents.items():
        with TemporaryDirectory() as built:
            content.build(Path(built))
            prebuilt.pack(Path(built), folder / f"{name}.zip")
    with TemporaryDirectory() as built:
        other_services(target, Path(built))
        prebuilt.pack(Path(built), folder / f"{prebuilt.SERVICES}.zip")
    index = prebuilt.Index(
        hashes={name: content.hash for name, content in contents.items()},
        recipe=target.recipe,
        lock=digest(LOCK.read_text()),
        services=SERVICES,
        compiled=target.interpreter is not None,
        flags=feature_flags(),
    )
    (folder / prebuilt.INDEX).write_text(index.to_json(), encoding="utf-8")


def made(target: Target) -> Iterator[tuple[str, Made]]:
    """Yield each layer and function with its name."""
    yield "dependencies", dependencies(target)
    yield "core", core(target)
    yield "console", console()
    names = (handler.parent.name for handler in sorted(FUNCTIONS.glob("*/handler.py")))
    yield from ((name, function(name)) for name in names if name != "console")


def other_services(target: Target, folder: Path) -> None:
    """Write the descriptions of the AWS services that the layer does not contain to `folder`, with the paths that they
    have in the layer.
    """
    with TemporaryDirectory() as built:
        site = Path(built) / "python"
        install_packages(target, site)
        data = site / "botocore" / "data"
        names = frozenset(each.name for each in data.iterdir() if each.is_dir())
        prune(site, names)
        for name in sorted(names - SERVICES):
            shutil.copytree(data / name, folder / prebuilt.DATA / name)
