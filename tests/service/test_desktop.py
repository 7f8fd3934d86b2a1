"""Desktop notifications, if the system has a program for them."""

import sys

import pytest

from katod.service import desktop
from tests.support.live import until


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the program is not waited for
def test_the_text_of_a_notification_is_no_option_and_no_shell(tmp_path, monkeypatch):
    """Whatever a title begins with, the program gets it as one argument after its options."""
    program, told = tmp_path / "notify-send", tmp_path / "told"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {told}.part && mv {told}.part {told}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "linux")
    desktop.notify("--urgency=critical", "$(touch x); text")
    until(told.exists, "the notification")
    assert told.read_text().splitlines() == ["--app-name=katod", "--", "--urgency=critical", "$(touch x); text"]


def test_without_a_program_there_is_no_notification(tmp_path, monkeypatch):
    """A missing notification program is not an error."""
    monkeypatch.setenv("PATH", str(tmp_path))
    desktop.notify("title", "text")
