"""The package's source as the tests read it: modules, what they import, and of what classes their fields are."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from duecourse.domain.targets.kinds import TARGETS
from tests.support.template import ROOT

PACKAGE = ROOT / "layers" / "duecourse" / "python"
PACKAGES = (PACKAGE, ROOT / "schedules" / "src")
CLIENT_SIDE = {"cli", "client", "schedules.py", "testing", "worker"}
"""Parts of the packages that people install and no function has (tests/infra/functions/test_layer.py)."""


def deployed() -> list[Path]:
    """The modules of the packages that functions have."""
    found = (path for folder in PACKAGES for path in sorted(folder.rglob("*.py")))
    return [path for path in found if inside(path).parts[1] not in CLIENT_SIDE]


def inside(path: Path) -> Path:
    """The path of a module in the folder of its package."""
    return next(path.relative_to(folder) for folder in PACKAGES if path.is_relative_to(folder))


Function = ast.FunctionDef


@dataclass
class Module:
    """One module of the package, as far as it matters here."""

    name: str
    tree: ast.Module

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What each imported name stands for, wherever in the module it is imported."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("duecourse"):
                found |= {(each.asname or each.name): f"{node.module}.{each.name}" for each in node.names}
        return found

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """Functions of the module itself."""
        return {node.name: node for node in self.tree.body if isinstance(node, Function)}

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """Classes by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}


@cache
def modules() -> Mapping[str, Module]:
    """All modules of the package, by their full names."""
    return {name: Module(name, ast.parse(path.read_text())) for name, path in _paths()}


def _paths() -> Iterator[tuple[str, Path]]:
    for path in deployed():
        parts = inside(path).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def resolve(full: str) -> tuple[Module, str] | None:
    """The module and the name in it that `duecourse.a.b.C` stands for, through packages that only hand names on."""
    where, _, name = full.rpartition(".")
    module = modules().get(where)
    if module is None:
        return None
    if name in module.functions or name in module.classes:
        return module, name
    return resolve(module.imports[name]) if name in module.imports else None


def methods(cls: ast.ClassDef) -> dict[str, Function]:
    """A class's methods, constructor and all."""
    return {node.name: node for node in cls.body if isinstance(node, Function)}


def inherited(module: Module, cls: ast.ClassDef) -> dict[str, tuple[Module, ast.ClassDef, Function]]:
    """A class's methods with those of its base classes of ours, each with the class that has it."""
    found: dict[str, tuple[Module, ast.ClassDef, Function]] = {}
    for base in reversed(cls.bases):
        of = (module, base.id) if isinstance(base, ast.Name) and base.id in module.classes else named(module, base)
        if of is not None and of[1] in of[0].classes:
            found |= inherited(of[0], of[0].classes[of[1]])
    return found | {name: (module, cls, function) for name, function in methods(cls).items()}


def arity(function: Function) -> int:
    """How many arguments a method takes besides itself, named ones included."""
    return len(function.args.posonlyargs + function.args.args + function.args.kwonlyargs)


WIRING = "duecourse.wiring"
CONTAINER = "Wiring"
PARTS = "duecourse.usecases.parts", "Parts"
"""The base class of the container, which use cases have as `parts`."""
SERVICES, STORES = "duecourse.ports", "duecourse.stores"
"""What use cases reach for: the protocols of services, and stores. What stores reach for is read from them."""


@dataclass(frozen=True)
class Part:
    """A function or a class of a module, or (`Wiring.tick`) a method of the container, of which each is a part of its
    own: a function has those that its handler names, and those that they name.
    """

    module: str
    name: str

    @property
    def within(self) -> Module:
        """Its module."""
        return modules()[self.module]

    @property
    def tree(self) -> Function | ast.ClassDef:
        """Its source."""
        if self.cls is not None:
            return methods(self.cls)[self.name.rpartition(".")[2]]
        return self.within.functions.get(self.name) or self.within.classes[self.name]

    @property
    def cls(self) -> ast.ClassDef | None:
        """The class of a method."""
        return self.within.classes.get(self.name.rpartition(".")[0])


def of_the_container(named: set[str]) -> list[Part]:
    """The parts of the container with these names."""
    return [
        Part(module, f"{cls}.{name}")
        for module, cls in ((WIRING, CONTAINER), PARTS)
        for name, function in methods(modules()[module].classes[cls]).items()
        if name in named and not any(ast.unparse(each) == "abstractmethod" for each in function.decorator_list)
    ]


def attributes(source: ast.AST, of: str = "") -> set[str]:
    """The attributes that a source names: `Wiring(settings).tick`, `self.jobs`; or only those of `of`, such as those of
    the parts of a use case (`self.parts.jobs`).
    """
    found = [node for node in ast.walk(source) if isinstance(node, ast.Attribute)]
    return {node.attr for node in found if not of or (isinstance(node.value, ast.Attribute) and node.value.attr == of)}


def reached(*entries: str, handler: ast.AST) -> list[Part]:
    """All functions and classes that the parts of some modules name, and the parts of the container that a handler
    names, directly or not; ports and domain apart.
    """
    open_ = [Part(name, part) for name in entries for part in (*modules()[name].functions, *modules()[name].classes)]
    open_ += of_the_container(attributes(handler))
    found: dict[Part, None] = {}
    containers = Part(WIRING, CONTAINER), Part(*PARTS)
    while open_:
        part = open_.pop()
        if part in found or part.module.split(".")[1] in {"ports", "domain"} or part in containers:
            continue
        open_ += of_the_container(attributes(part.tree, "parts" if part.cls is None else ""))
        found[part] = None
        module = part.within
        if part.name == "Callers":
            open_ += [Part(where.name, name) for where, name in callers()]
        for node in ast.walk(part.tree):
            full = full_name(module, node)
            if full is not None and (meant := resolve(full)) is not None:
                open_.append(Part(meant[0].name, meant[1]))
    return list(found)


def callers() -> list[tuple[Module, str]]:
    """The callers of targets, which the kinds of targets name and which are imported at their first calls."""
    found = [resolve(kind.call.replace(":", ".")) for kind in TARGETS.values() if kind.call is not None]
    assert None not in found, "a kind of target names a caller that does not exist"
    return [each for each in found if each is not None]


def full_name(module: Module, node: ast.AST) -> str | None:
    """What a name, or a name in an imported module, stands for."""
    if isinstance(node, ast.Name):
        own = node.id in module.functions or node.id in module.classes
        return f"{module.name}.{node.id}" if own else module.imports.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in module.imports:
        return f"{module.imports[node.value.id]}.{node.attr}"
    return None


@dataclass
class PortUses:
    """The (port, method) pairs that some parts of the code reach for. A store is its own port."""

    within: list[Part]
    found: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for part in self.within:
            tree = part.tree
            if isinstance(tree, ast.ClassDef):
                for function in methods(tree).values():
                    self._read(part.within, function, tree)
            else:
                self._read(part.within, tree, part.cls)

    def _read(self, module: Module, function: Function, cls: ast.ClassDef | None) -> None:
        known: dict[str, tuple[Module, str]] = {}
        arguments = function.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if (kind := named(module, each.annotation)) is not None:
                known[each.arg] = kind
        if cls is not None:
            known["self"] = module, cls.name
        for node in ast.walk(function):
            for target, value in _assigned(node):
                if isinstance(target, ast.Name) and (kind := type_of(value, known)) is not None:
                    known[target.id] = kind
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and (kind := type_of(node.value, known)) is not None:
                where, name = kind
                if where.name.startswith(_ports(module)) and node.attr in inherited(where, where.classes[name]):
                    self.found.add((f"{where.name}.{name}", node.attr))


def _ports(module: Module) -> tuple[str, ...]:
    return (SERVICES,) if module.name.startswith(STORES) else (SERVICES, STORES)


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`a = x`, and both of `a, b = x, y`."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def named(module: Module, annotation: ast.expr | None) -> tuple[Module, str] | None:
    """The class of ours that an annotation names: `JobStore`, `Announcements | None`."""
    if isinstance(annotation, ast.BinOp):
        return named(module, annotation.left) or named(module, annotation.right)
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return named(module, ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.Subscript):
        return named(module, annotation.value)
    if not isinstance(annotation, ast.Name):
        return None
    if annotation.id in module.classes:
        return module, annotation.id
    found = resolve(module.imports.get(annotation.id, ""))
    return found if found is not None and found[1] in found[0].classes else None


def type_of(node: ast.expr, known: Mapping[str, tuple[Module, str]]) -> tuple[Module, str] | None:
    """The class of an expression like `self.uses.cursors`, by the annotations of the fields."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute) or (owner := type_of(node.value, known)) is None:
        return None
    module, name = owner
    for each in module.classes[name].body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id == node.attr:
            return named(module, each.annotation)
    made = methods(module.classes[name])
    if node.attr in made and made[node.attr].decorator_list:
        return named(module, made[node.attr].returns)
    init = made.get("__init__")
    for each in init.body if init else ():
        if (
            isinstance(each, ast.Assign)
            and isinstance(each.targets[0], ast.Attribute)
            and each.targets[0].attr == node.attr
        ):
            return _type_of_made(module, each.value, init)
    return None


def _type_of_made(module: Module, value: ast.expr, init: Function | None) -> tuple[Module, str] | None:
    """What `self.x = <value>` of a constructor makes of x: an instance, or a parameter."""
    if isinstance(value, ast.Call):
        return named(module, value.func)
    if isinstance(value, ast.Name) and init is not None:
        arguments = (*init.args.args, *init.args.kwonlyargs)
        return next((named(module, each.annotation) for each in arguments if each.arg == value.id), None)
    return None
