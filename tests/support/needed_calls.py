"""Which AWS requests each function's code can make, read from the source: nothing is imported, nothing is run.

From a function's handler and its parts of the container, the use cases that they name; from their typed fields and
parameters, the methods of ports that they use; from the adapters that the container makes, the methods behind them;
from there, through the adapters' own helpers, the methods of boto3's clients, and through stores, their requests to the
tables.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import botocore.session
from botocore import xform_name

from duecourse.domain.targets.kinds import TARGETS
from duecourse.stores.table import INDEXES, Table
from tests.support.source import (
    PARTS,
    WIRING,
    Function,
    Module,
    Part,
    PortUses,
    arity,
    callers,
    full_name,
    inherited,
    methods,
    modules,
    named,
    reached,
    resolve,
    type_of,
)
from tests.support.template import ROOT

CLIENTS = ("client", "_client", "_client_for", "_sts_for")
"""What adapters call a client of boto3, or what gives them one."""

ADAPTERS = ("duecourse.adapters", "duecourse.stores")
NO_REQUESTS = {"meta", "exceptions"}
SERVICES = sorted(
    {"cloudwatch", "dynamodb", "dynamodbstreams", "events", "kms", "s3", "secretsmanager", "sns", "sqs", "ssm"}
    | {kind.service for kind in TARGETS.values() if kind.service}
)
"""Services that adapters have clients of; the first that has a request gives it its name."""

WRITES = {"Put": "Put", "Update": "Update", "Delete": "Delete", "Check": "ConditionCheck"}
READS = {
    "Query": ("query",),
    "Scan": ("scan",),
    "get": ("get_item",),
    "get_many": ("batch_get_item", "get_item"),
    "get_from_both": ("batch_get_item", "get_item"),
    "put_many": ("batch_write_item", "put_item"),
}
"""What stores make of their tables: `Put(Table.RUNS, …)`, `tables.get(Table.JOBS, …)`. Their calls have a table's name
instead of an adapter's. A table that is a variable may be either one, and so may an index.
"""


@dataclass(frozen=True)
class Call:
    """A request: boto3's name of the method, or `transact:Put`, or `partiql:UPDATE`."""

    adapter: str
    method: str


@dataclass
class Reach:
    """The requests behind one method of an adapter."""

    adapter: str
    seen: set[tuple[str, str, str]] = field(default_factory=set)
    calls: set[Call] = field(default_factory=set)
    many: bool = False
    """Whether it executes many writes, as statements."""

    def requests(self) -> set[Call]:
        """Return the requests. Those of many writes can be statements and parts of transactions."""
        words = {f"transact:{name}": f"partiql:{name.upper()}" for name in ("Update", "Delete") if self.many}
        return self.calls | {Call(each.adapter, words[each.method]) for each in self.calls if each.method in words}

    def into(self, module: Module, name: str, cls: ast.ClassDef | None = None) -> None:
        """Follow a function of a module, or a method of a class in it, and all that it names."""
        owner, function = cls, module.functions.get(name)
        concrete = module, cls
        if cls is not None:
            module, owner, function = inherited(module, cls).get(name, (module, cls, None))
        key = concrete[0].name, cls.name if cls else "", name
        if function is None or key in self.seen:
            return
        self.seen.add(key)
        promised = named(module, function.returns)
        if promised is not None and promised[0].name.startswith(ADAPTERS):
            self._made(module, function, promised[0].classes[promised[1]])
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and module.name.startswith("duecourse.stores"):
                self._of_tables(node)
            if isinstance(node, ast.Attribute):
                self._attribute(module, node, owner, concrete)
            elif isinstance(node, ast.Name):
                self._name(module, node.id)
            elif isinstance(node, ast.Constant) and "_" in (text := str(node.value)) and text in requests():
                self.calls.add(Call(self.adapter, text))  # for getattr(client, "put_item")

    def _of_tables(self, call: ast.Call) -> None:
        """A request of a store, or a part of one."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        self.many |= name == "write_many"
        asked = (f"transact:{WRITES[name]}",) if name in WRITES else READS.get(name, ())
        table = ast.unparse(call.args[0]) if call.args and name != "get_from_both" else "table"
        if not asked or table not in ("Table.JOBS", "Table.RUNS", "table"):
            return
        tables = [each for each in Table if table in ("table", f"Table.{each.name}")]
        index = next((ast.unparse(each.value) for each in call.keywords if each.arg == "index"), None)
        if index is None and name == "Query" and len(call.args) > 3:
            index = ast.unparse(call.args[3])
        for each in tables:
            self.calls |= {Call(each.value, method) for method in asked}
            indexes = [of for of in INDEXES if of.table is each and index in ("index", of.name.upper())]
            self.calls |= {Call(each.value, f"index:{of.name}") for of in indexes}

    def _made(self, module: Module, function: Function, protocol: ast.ClassDef) -> None:
        """A function that makes one of several adapters: whoever has it may ask each of them for what it promises."""
        if protocol.name == "TargetCaller":
            for within, cls_name in callers():
                for method in methods(protocol):
                    self.into(within, method, within.classes[cls_name])
        for node in ast.walk(function):
            made = resolve(full_name(module, node) or "")
            if made is not None and made[1] in made[0].classes and implements(*made, protocol):
                for method in methods(protocol):
                    self.into(made[0], method, made[0].classes[made[1]])

    def _name(self, module: Module, name: str) -> None:
        """A function of the module, or one that it imports; a class that is made is followed when it is used."""
        if name in module.functions:
            self.into(module, name)
        elif (found := resolve(module.imports.get(name, ""))) and found[0].name.startswith(ADAPTERS):
            self.into(*found)

    def _attribute(
        self,
        module: Module,
        node: ast.Attribute,
        cls: ast.ClassDef | None,
        concrete: tuple[Module, ast.ClassDef | None],
    ) -> None:
        value = node.value.func if isinstance(node.value, ast.Call) else node.value
        last = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
        if last in CLIENTS and node.attr not in NO_REQUESTS:
            if last in CLIENTS[:2] or isinstance(node.value, ast.Call):
                self.calls.add(Call(self.adapter, _presigned(node) or node.attr))
            return
        if isinstance(value, ast.Name) and (helper := modules().get(module.imports.get(value.id, ""))):
            self.into(helper, node.attr)
        if isinstance(value, ast.Name) and isinstance(node.value, ast.Call):  # DeadIndex(...).newest(...)
            made = (module, value.id) if value.id in module.classes else resolve(module.imports.get(value.id, ""))
            if made is not None and made[1] in made[0].classes:
                self.into(made[0], node.attr, made[0].classes[made[1]])
        if cls is not None:
            if isinstance(value, ast.Name) and value.id == "self":
                self.into(concrete[0], node.attr, concrete[1])
            kind = type_of(node.value, {"self": (module, cls.name)})
            if kind is not None and kind[0].name.startswith(ADAPTERS):
                self.into(kind[0], node.attr, kind[0].classes[kind[1]])


def _presigned(node: ast.Attribute) -> str | None:
    """A link can do what its signer may do: the request that it is signed for counts as made."""
    return "presigned" if node.attr == "generate_presigned_url" else None


def made_adapters(within: list[Part]) -> dict[str, tuple[Module, str]]:
    """The adapters that parts of the container name, by the names of their classes."""
    found = {}
    for part in within:
        if part.module not in (WIRING, PARTS[0]):
            continue
        for node in ast.walk(part.tree):
            full = full_name(part.within, node)
            kind = resolve(full) if full is not None and full.startswith(ADAPTERS) else None
            if kind is not None and kind[1] in kind[0].classes:
                found[kind[1]] = kind
    return found


def implements(module: Module, name: str, port: ast.ClassDef) -> bool:
    """Whether a class has every method of a port, each with as many arguments."""
    has = inherited(module, module.classes[name])
    return all(name in has and arity(has[name][2]) == arity(method) for name, method in methods(port).items())


@cache
def requests() -> Mapping[str, tuple[str, str]]:
    """Service and action of each of boto3's methods: `put_item` is `("dynamodb", "PutItem")`."""
    session = botocore.session.get_session()
    found: dict[str, tuple[str, str]] = {}
    for service in SERVICES:
        for operation in session.get_service_model(service).operation_names:
            found.setdefault(xform_name(operation), (service, operation))
    return found


def entries(handler: ast.AST) -> list[str]:
    """The modules of ours that a handler imports, apart from the container; with an HTTP application all that may be
    routed to.
    """
    named = [node.module or "" for node in ast.walk(handler) if isinstance(node, ast.ImportFrom)]
    found = [name for name in named if name in modules() and name != WIRING]
    if "duecourse.api.app" in found:
        found += [name for name in modules() if name.startswith("duecourse.api.")]
    if "duecourse.api.callback_app" in found:
        found += ["duecourse.api.routes.callbacks"]
    return found


@cache
def needed(function: str) -> frozenset[Call]:
    """Every request that the code of `functions/<function>` can make, with the adapter that makes it."""
    handler = ast.parse((ROOT / "functions" / function / "handler.py").read_text())
    within = reached(*entries(handler), handler=handler)
    uses = PortUses(within).found
    calls: set[Call] = set()
    for name, (module, cls_name) in made_adapters(within).items():
        cls = module.classes[cls_name]
        for port, method in uses:
            where, port_name = resolve(port) or (module, "")
            if implements(module, cls_name, where.classes[port_name]):
                reach = Reach(name)
                reach.into(module, method, cls)
                calls |= reach.requests()
    return frozenset(calls)
