"""Eight numbers at a time for compiled functions: loads, stores and multiply-adds that no compiler may reorder.

Each operation is the processor's own and rounds as IEEE 754 says, so a sum comes out alike wherever it is compiled.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model

LANES = 8
_INT = ir.IntType(32)
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


class _Vector(types.Type):
    """Eight single-precision numbers."""

    def __init__(self) -> None:
        super().__init__(name="Vector8")


VECTOR = _Vector()
NUMBERS = types.Array(types.float32, 1, "C")


@register_model(_Vector)
class _VectorModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _pointer(context: Any, builder: Any, array: Any, place: Any, kind: Any = _VECTOR) -> Any:
    data = context.make_array(NUMBERS)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


@intrinsic
def load(typing: Any, array: Any, place: Any) -> Any:
    """Eight numbers of the array from this place on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(_pointer(context, builder, *values), align=4)

    return VECTOR(NUMBERS, types.intp), code


@intrinsic
def store(typing: Any, array: Any, place: Any, vector: Any) -> Any:
    """Write eight numbers into the array from this place on."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store(values[2], _pointer(context, builder, *values[:2]), align=4)
        return context.get_dummy_value()

    return types.void(NUMBERS, types.intp, VECTOR), code


@intrinsic
def splat(typing: Any, array: Any, place: Any) -> Any:
    """The number at this place of the array, eight times."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        number = builder.load(_pointer(context, builder, *values, ir.FloatType()))
        first = builder.insert_element(nothing, number, _INT(0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))

    return VECTOR(NUMBERS, types.intp), code


@intrinsic
def multiply_add(typing: Any, left: Any, right: Any, total: Any) -> Any:
    """left x right + total, rounded once."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f32"), values)

    return VECTOR(VECTOR, VECTOR, VECTOR), code


@intrinsic
def if_greater(typing: Any, left: Any, right: Any, then: Any, otherwise: Any) -> Any:
    """`then` where left > right, `otherwise` elsewhere."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), values[2], values[3])

    return VECTOR(VECTOR, VECTOR, VECTOR, VECTOR), code
