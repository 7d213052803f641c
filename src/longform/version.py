"""The version, for what is imported by the package's front door and for what it imports."""

__version__ = "0.2.0"
