"""File modes that also apply to root: even a privileged process can be denied access to a file."""

import ctypes
from contextlib import contextmanager

_VERSION_3 = 0x20080522
_PASSES_BY_MODES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Data(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def _capabilities():
    data = (_Data * 2)()
    header = _Header(_VERSION_3, 0)
    assert ctypes.CDLL(None, use_errno=True).capget(ctypes.byref(header), data) == 0, ctypes.get_errno()
    return data


def _use(data):
    header = _Header(_VERSION_3, 0)
    assert ctypes.CDLL(None, use_errno=True).capset(ctypes.byref(header), data) == 0, ctypes.get_errno()


@contextmanager
def modes_hold():
    """Drop the capabilities that let this thread, and processes it forks, bypass file modes."""
    kept = _capabilities()
    fewer = _capabilities()
    fewer[0].effective &= ~_PASSES_BY_MODES
    _use(fewer)
    try:
        yield
    finally:
        _use(kept)
