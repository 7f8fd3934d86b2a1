"""The files that all pages need: styles, one script, an icon."""

from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from katod.formats.style import STYLE
from katod.serve.answers import problem

FOLDER: Final = Path(__file__).parents[1] / "static"
_MEDIA: Final = {
    "page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
}  # fmt: skip
_TRANSCRIPT: Final = "transcript.css"


async def static(request: Request) -> Response:
    """Return one of the files; there are no others."""
    name = request.path_params["name"]
    if name == _TRANSCRIPT:
        return Response(STYLE, media_type=_MEDIA["page.css"])
    if name not in _MEDIA:
        return problem(404, "NOT_FOUND", "there is nothing here")
    return Response((FOLDER / name).read_bytes(), media_type=_MEDIA[name])
