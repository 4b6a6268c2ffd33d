"""Records kept: one SQLite file, every run in it."""

from gemmlab.store.compare import Comparison, compare
from gemmlab.store.place import default_path
from gemmlab.store.rows import Row, Run
from gemmlab.store.store import Store, open_store

__all__ = ["Comparison", "Row", "Run", "Store", "compare", "default_path", "open_store"]
