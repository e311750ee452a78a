"""Digests of users' functions, to detect that their code changed."""

from __future__ import annotations

import functools
import types
from hashlib import blake2b
from typing import Any


def code_of(*functions: Any) -> str:
    """Compute a digest of the code of functions: 128 bits in hexadecimal.

    The digest changes if one of the functions changes, if a function of the same module that it
    calls changes, or if a value that it closes over changes. Comments and line numbers do not
    change the digest. The digest differs between versions of Python, because their bytecode
    differs.

    Examples
    --------
    >>> code_of(lambda n: n + 1) == code_of(lambda n: n + 1)
    True
    >>> code_of(lambda n: n + 1) == code_of(lambda n: n + 2)
    False
    """
    parts = [_described(each, set()) for each in functions]
    return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _described(value: Any, seen: set[int]) -> str:
    """Describe an object as text: a function by its code, others by their ``repr`` or class."""
    if isinstance(value, functools.partial):
        parts = (value.func, *value.args, *value.keywords.items())
        return f"partial({', '.join(_described(each, seen) for each in parts)})"
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        return _of_function(value, seen)
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(_described(each, seen) for each in value))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(_described(each, seen) for each in value)})"
    if isinstance(value, type | types.BuiltinFunctionType | types.ModuleType):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    text = repr(value)
    # The repr of many objects contains their address, which differs in each process.
    return type(value).__qualname__ if " at 0x" in text else text


def _of_function(function: types.FunctionType, seen: set[int]) -> str:
    if id(function) in seen:
        return function.__name__
    seen.add(id(function))
    parts = [_of_code(function.__code__, seen)]
    parts += [_described(each, seen) for each in function.__defaults__ or ()]
    for cell in function.__closure__ or ():
        try:
            parts.append(_described(cell.cell_contents, seen))
        except ValueError:  # the variable has no value yet
            parts.append("empty")
    for name in _names_of(function.__code__):
        called = function.__globals__.get(name)
        if isinstance(called, types.FunctionType) and called.__module__ == function.__module__:
            parts.append(f"{name}: {_of_function(called, seen)}")
    return "; ".join(parts)


def _of_code(code: types.CodeType, seen: set[int]) -> str:
    constants = [
        _of_code(each, seen) if isinstance(each, types.CodeType) else _described(each, seen)
        for each in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _names_of(code: types.CodeType) -> list[str]:
    names = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names.update(_names_of(each))
    return sorted(names)
