"""Classes of the host in the guest, made from the host's descriptions: records, enums, exceptions, and proxies."""

from __future__ import annotations

from typing import Any

from cellwright_guest import faults, objects, operators, records
from cellwright_guest.methods import Method, attribute
from cellwright_guest.proxies import Proxy, ProxyClass
from cellwright_guest.unpacking import Unpacker


def make_class(world: Any, number: int, about: dict[str, Any], unpacker: Unpacker) -> Any:
    """The guest's class for a class of the host, by the kind that its description names."""
    match about["kind"]:
        case "record" | "model":
            return records.make_record(world, number, about)
        case "object":
            return objects.make_class(world, number, about)
        case "namedtuple":
            return records.make_namedtuple(world, number, about)
        case "enum":
            return records.make_enum(number, about, unpacker)
        case "error":
            bases = tuple(world._class(*base, unpacker) for base in about["bases"])
            cls = faults.make_class(about, bases)
            if cls.__dict__.get("__init__") is faults.rebuilt:  # else it is the standard library's own
                cls._cellwright_class = number
            return cls
        case _:
            return _make_proxy_class(world, number, about)


def _make_proxy_class(world: Any, number: int, about: dict[str, Any]) -> Any:
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__doc__": about["doc"],
        "__module__": about["module"],
        "_cellwright_class": number,
        "_cellwright_bases": frozenset((number, *about["ancestors"])),
        "_cellwright_asked": set[int](),
        "_cellwright_world": world,
        "_cellwright_bound": about["bound"],
        "_cellwright_signature": about["signature"],
    }
    for name, flags, signature, doc in about["methods"]:
        namespace[name] = Method(world, name, flags, signature, doc)
    for name, doc in about["properties"]:
        namespace[name] = attribute(world, name, doc)
    namespace |= operators.of_type(world, about["operators"])
    return ProxyClass(about["name"], (Proxy,), namespace)
