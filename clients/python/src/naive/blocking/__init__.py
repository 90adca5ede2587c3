# Generated from naive/aio/__init__.py by `make blocking`: a change belongs there.
"""The blocking client."""
