"""Number formats by their ml_dtypes names: their widths, special codes and storage."""

from gemmlab.formats.format import Format
from gemmlab.formats.table import bits_of, get, names, storage_bytes

__all__ = ["Format", "bits_of", "get", "names", "storage_bytes"]
