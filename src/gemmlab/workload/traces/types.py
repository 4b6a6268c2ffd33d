"""PyTorch's names of element types as a trace spells them, and what is no tensor."""

#: C++ names (caffe2::TypeMeta), by compiler and version, to the package's formats; the rest keeps its own name
FORMATS: dict[str, str] = {
    "double": "float64",
    "float": "float32",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
    "c10::Float8_e4m3fnuz": "float8_e4m3fnuz",
    "c10::Float8_e5m2fnuz": "float8_e5m2fnuz",
    "c10::Float8_e8m0fnu": "float8_e8m0fnu",
    "c10::Float4_e2m1fn_x2": "float4_e2m1fn",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "short int": "int16",
    "unsigned short": "uint16",
    "short unsigned int": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "__int64": "int64",
    "unsigned long": "uint64",
    "long unsigned int": "uint64",
    "c10::qint8": "int8",
    "c10::quint8": "uint8",
    "c10::qint32": "int32",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "c10::complex<c10::Half>": "complex32",
    "bool": "bool",
}

#: what is no tensor; until 1.11 by the tags of PyTorch's values
CONSTANTS = (
    "", "Scalar", "ScalarList", "GenericList", "None", "Int", "SymInt", "Double", "SymFloat", "Bool", "SymBool",
    "String", "IntList", "SymIntList", "DoubleList", "BoolList", "Device", "ComplexDouble", "Generator",
)  # fmt: skip
TENSORS = "TensorList"


def format_of(name: str) -> str:
    """The format of a C++ type's name, `at::` and `c10::` of either spelling."""
    return FORMATS.get(name) or FORMATS.get(name.replace("at::", "c10::")) or name
