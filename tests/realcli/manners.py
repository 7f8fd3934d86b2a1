"""How the interactive forms of the clients differ, as far as the conversation in a terminal depends on it."""

from typing import NamedTuple


class Manner(NamedTuple):
    """What a person sees and presses, and what the client's files say of it."""

    ready: str  # on the screen as soon as the client accepts a prompt
    busy: str  # on the screen while it works
    queue: str = "Enter"  # the key that sends a prompt while it works, to be heard after the answer
    stop: tuple[str, ...] = ("Escape",)  # the keys that interrupt an answer
    farewell: str = "/exit"
    marks_pastes: bool = False  # if not, a command in a short paste acts like a typed one
    keeps_halves: bool = True  # whether the first part of an interrupted answer is in its files
    asks: str = ""  # on the screen while it asks for a permission; empty: it never does
    refuse: tuple[str, ...] = ("Escape",)  # the keys that refuse it
    anew: str = "/clear"  # what begins a new session
    confirm: tuple[str, ...] = ()  # the keys that it asks for then


SPINNING = "[⠁-⣿]"  # what turns while a client works
TWICE = ("Escape", "Escape")  # the first one only asks
MANNERS = {
    "cline": Manner("Ctrl\\+P for menu", SPINNING, farewell="/quit", keeps_halves=False, asks="Approve tool call"),
    "claude": Manner(r"\? for shortcuts", "esc to interrupt", marks_pastes=True, asks="Do you want to proceed"),
    "codex": Manner(  # Enter does not queue a prompt: it interrupts the answer
        r"\? for shortcuts",
        "esc to interrupt",
        queue="Tab",
        farewell="/quit",
        keeps_halves=False,
        asks="Would you like to run",
        anew="/new",
        confirm=("Enter",),
    ),
    "copilot": Manner(
        "/ commands", "esc interrupt", stop=TWICE, keeps_halves=False, asks="Do you want to", anew="/clear"
    ),
    "gemini": Manner(
        "Type your message",
        "esc to cancel",
        farewell="/quit",
        keeps_halves=False,
        asks="Allow execution",
        anew="/clear",
    ),
    "kimi": Manner("context: ", f"[🌑-🌘]|{SPINNING}", asks="Run this command", refuse=("3",), anew="/new"),
    "opencode": Manner("Ask anything", "esc interrupt", stop=TWICE, asks="Permission required", anew="/new"),
    "pi": Manner("scripted", "Working", farewell="/quit", anew="/new"),
    "qwen": Manner(  # Enter steers; a prompt that is left goes back into the input
        "Type your message",
        "esc to cancel",
        queue="C-q",
        stop=("Escape", "C-u"),
        farewell="/quit",
        asks="Allow execution",
    ),
}
