"""Eight numbers at a time for compiled functions: loads, stores and multiply-adds that no compiler may reorder.

Each operation rounds as IEEE 754 says, so a sum comes out alike on whatever processor it is compiled for.
"""

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model

LANES = 8
_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_EIGHT = ir.VectorType(_FLOAT, LANES)


class _Vector(types.Type):  # type: ignore[misc]
    """Eight single-precision numbers."""


@register_model(_Vector)
class _VectorModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _EIGHT)


_VECTOR, _ARRAY, _PLACE = _Vector("Vector8"), types.Array(types.float32, 1, "C"), types.intp


def _operation(result: Any, *kinds: Any) -> Callable[[Callable[..., Any]], Any]:
    """Makes of a function that writes machine code one of these kinds of values that compiled functions may call."""

    def callable_from_compiled(write: Callable[..., Any]) -> Any:
        def typed(typing: Any, *arguments: Any) -> Any:
            return result(*kinds), lambda context, builder, _, values: write(context, builder, *values)

        names = list(inspect.signature(write).parameters.values())[1:]  # one in place of context and builder
        typed.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
        return intrinsic(typed)

    return callable_from_compiled


def _pointer(context: Any, builder: Any, array: Any, place: Any, kind: Any) -> Any:
    data = context.make_array(_ARRAY)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _eight_times(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(_EIGHT, ir.Undefined)
    first = builder.insert_element(nothing, number, _INT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))


@_operation(_VECTOR, _ARRAY, _PLACE)
def load(context: Any, builder: Any, array: Any, place: Any) -> Any:
    """Eight numbers of the array from this place on."""
    return builder.load(_pointer(context, builder, array, place, _EIGHT), align=4)


@_operation(types.void, _ARRAY, _PLACE, _VECTOR)
def store(context: Any, builder: Any, array: Any, place: Any, vector: Any) -> Any:
    """Write eight numbers into the array from this place on."""
    builder.store(vector, _pointer(context, builder, array, place, _EIGHT), align=4)
    return context.get_dummy_value()


@_operation(_VECTOR, _ARRAY, _PLACE)
def splat(context: Any, builder: Any, array: Any, place: Any) -> Any:
    """The number at this place of the array, eight times."""
    return _eight_times(builder, builder.load(_pointer(context, builder, array, place, _FLOAT)))


@_operation(_VECTOR, types.float32)
def constant(context: Any, builder: Any, number: Any) -> Any:
    """The number eight times."""
    return _eight_times(builder, number)


@_operation(_VECTOR, _VECTOR, _VECTOR)
def add(context: Any, builder: Any, left: Any, right: Any) -> Any:
    """left + right."""
    return builder.fadd(left, right)


@_operation(_VECTOR, _VECTOR, _VECTOR, _VECTOR)
def multiply_add(context: Any, builder: Any, left: Any, right: Any, total: Any) -> Any:
    """left x right + total, rounded once."""
    kind = ir.FunctionType(_EIGHT, [_EIGHT] * 3)
    fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f32")
    return builder.call(fma, [left, right, total])


@_operation(_VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR)
def if_greater(context: Any, builder: Any, left: Any, right: Any, then: Any, otherwise: Any) -> Any:
    """`then` where left > right, `otherwise` elsewhere."""
    return builder.select(builder.fcmp_ordered(">", left, right), then, otherwise)


@_operation(_VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR)
def if_equal(context: Any, builder: Any, left: Any, right: Any, then: Any, otherwise: Any) -> Any:
    """`then` where left = right, `otherwise` elsewhere."""
    return builder.select(builder.fcmp_ordered("==", left, right), then, otherwise)
