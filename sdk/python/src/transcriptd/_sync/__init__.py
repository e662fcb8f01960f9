# Made from ../_async/__init__.py by tools/unasync.py: do not edit.
