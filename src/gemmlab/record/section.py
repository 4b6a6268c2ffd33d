"""What all sections of a Record have in common."""

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all sections: frozen, named fields, comparable."""
