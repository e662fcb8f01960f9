"""The Python SDK of transcriptd, which keeps the transcripts of LLM agents."""

from importlib.metadata import version as _version

__version__ = _version("transcriptd")
"""The version of the SDK, which is that of the servers it was released with."""
