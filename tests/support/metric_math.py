"""CloudWatch's metric math, as far as our alarms use it: numbers, names, + - * /, comparisons, IF, FILL,
and MAX, MIN and SUM over a list, which leave out what has no data.

FILL with REPEAT takes the number of the period before; it may only stand around a whole expression.
"""

import ast
import operator
from collections.abc import Callable, Mapping

OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


class NotUsedError(ValueError):
    """CloudWatch knows more than our alarms use: what they do not use is refused here, and not guessed."""


def evaluate(expression: str, values: Mapping[str, float | None], before: float | None = None) -> float | None:
    """The expression's value in one period; None where a metric that it needs told nothing, or it divides by 0.

    `before` is its value in the period before.
    """
    # `IF` is no word of Python's, so the whole reads as a Python expression that calls two functions.
    whole = ast.parse(expression, mode="eval").body
    match whole:
        case ast.Call(func=ast.Name(id="FILL"), args=[inner, ast.Name(id="REPEAT")]):
            found = _value(inner, values)
            return before if found is None else found
    return _value(whole, values)


def _value(node: ast.expr, values: Mapping[str, float | None]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id="REPEAT"):
            raise NotUsedError("no expression of ours repeats a part of itself")
        case ast.Name(id=name):
            return values[name]
        case ast.Call(func=ast.Name(id="FILL"), args=[inner, default]):
            found = _value(inner, values)
            return _value(default, values) if found is None else found
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, otherwise]):
            holds = _value(condition, values)
            return None if holds is None else _value(then if holds else otherwise, values)
        case ast.Call(func=ast.Name(id="MAX" | "MIN" | "SUM" as which), args=[ast.List(elts=elements)]):
            found_values = [each for each in (_value(one, values) for one in elements) if each is not None]
            if not found_values:
                return None
            return sum(found_values) if which == "SUM" else (max if which == "MAX" else min)(found_values)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -float(number)
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            return _of_two(lambda a, b: float(COMPARISONS[type(comparison)](a, b)), left, right, values)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _of_two(lambda a, b: a / b if b else None, left, right, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _of_two(OPERATORS[type(op)], left, right, values)
    raise NotUsedError(f"no expression of ours says {ast.dump(node)}")


def _of_two(
    how: Callable[[float, float], float | None], left: ast.expr, right: ast.expr, values: Mapping[str, float | None]
) -> float | None:
    a, b = _value(left, values), _value(right, values)
    return None if a is None or b is None else how(a, b)
