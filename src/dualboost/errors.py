"""What a caller can put right, in one sentence that says how."""

__all__ = ["BadInput"]


class BadInput(ValueError):
    """A file or an option that cannot be used."""
