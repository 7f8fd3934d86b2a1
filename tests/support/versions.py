"""Versions as they will be after an upgrade."""

from katod.formatspec import FORMATS


def set_format_version(monkeypatch, name, version):
    """Have a format print the same events differently than before, as its version says."""
    monkeypatch.setitem(FORMATS, name, FORMATS[name]._replace(version=version))
