"""The gallery has the pictures that `make pictures` takes, and the commands that it runs."""

from __future__ import annotations

import re
import shlex
import struct

from tests.snippets.blocks import blocks
from tools.chromium import SIZES
from tools.pictures import PICTURES
from tools.results.stored import ROOT

GALLERY = (ROOT / "docs" / "gallery.md").read_text("utf-8")


def test_the_gallery_shows_the_commands_of_its_pictures():
    lines = [
        line
        for each in blocks()
        if each.page == "docs/gallery.md"
        for line in each.text.replace("\\\n", " ").splitlines()
    ]
    shown = [shlex.split(line, comments=True) for line in lines]
    served = [["evenkey", "dashboard", "--run", run] for run in ("out", "joinrun")]
    taken = [shlex.split(line) for each in PICTURES.values() for line in each.commands]
    assert sorted(shown) == sorted(taken + served)


def test_the_gallery_has_every_picture_for_laptop_and_phone():
    wanted = {f"{name}-{size}.png#{size}" for name in PICTURES for size in SIZES}
    assert set(re.findall(r"pictures/(\S+\.png#\w+)\)", GALLERY)) == wanted
    taken = {f"{name}-{size}.png" for name in PICTURES for size in SIZES}
    assert {each.name for each in (ROOT / "docs" / "pictures").glob("*.png")} == taken


def test_each_picture_has_the_width_of_its_screen():
    folder = ROOT / "docs" / "pictures"
    wanted = {f"{name}-{size}.png": SIZES[size][0] for name in PICTURES for size in SIZES}
    assert {name: width_of(folder / name) for name in wanted} == wanted


def width_of(picture):
    """Read the width of a PNG picture from its header."""
    return struct.unpack(">I", picture.read_bytes()[16:20])[0]
