"""What has to outlive lost power goes through `katod.durable`, which says in which order; all else says why it may not."""

import ast

import pytest

from tests.modules import modules

# The modules that change files or folders in another way, and why lost power may take that.
OTHERWISE = {
    "katod.cli.config": "a new configuration is written once more if it is gone",
    "katod.cli.demo": "the demo is deleted when it ends",
    "katod.cli.exporting": "an export to a file that a person named, and sees",
    "katod.cli.opening": "temporary files",
    "katod.cli.record": "an answer that was read",
    "katod.cli.saving": "whether rescue was asked about",
    "katod.cli.setup": "whether setup was run",
    "katod.cli.service": "a directory that a service manager wants",
    "katod.serve.address": "where the running server listens",
    "katod.serve.page.recording": "an answer that was read",
    "katod.serve.server": "the socket of the running server",
    "katod.setup.made": "empty folders: one that is there again is removed next time",
    "katod.service.lock": "whose lock it is now",
    "katod.service.manager": "unit files, which `katod service install` writes again",
    "katod.service.recordingfiles": "what status lines show of the running daemon",
    "katod.service.running": "the version of the running daemon",
    "katod.store.usagecache": "a cache",
}
SYSTEM = {
    "fsync", "fdatasync", "ftruncate", "truncate", "rename", "renames", "replace", "link", "symlink", "unlink", "remove",
    "rmdir", "mkdir", "makedirs", "write", "writev", "pwrite",
}  # fmt: skip
METHODS = {"unlink", "rmdir", "mkdir", "touch", "write_bytes", "write_text", "hardlink_to", "symlink_to"}


def changes(node):
    """Return whether a call changes a file or a folder, or a syntax node says that one is to be created."""
    if isinstance(node, ast.Attribute) and node.attr in ("O_CREAT", "O_TRUNC", "rmtree"):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    of = node.func.value
    if isinstance(of, ast.Name) and of.id in ("os", "shutil"):
        return node.func.attr in SYSTEM
    return node.func.attr in METHODS


@pytest.mark.form
def test_every_module_that_changes_files_does_so_durably_or_says_why_not():
    """A new one calls `katod.durable`, or needs a line in the table."""
    found = {name for name, module in modules().items() if name != "katod.durable" and any(map(changes, module.nodes))}
    assert found == set(OTHERWISE)
