"""The gallery has the pictures that `make pictures` takes, and the commands that it runs."""

from __future__ import annotations

import re
import shlex
import struct

import pytest

from tests.snippets.blocks import blocks
from tools.chromium import SIZES
from tools.pictures import PICTURES, SCALE, WIDTHS, ending
from tools.results.charts import FOLDER
from tools.results.stored import ROOT

GALLERY = (ROOT / "docs" / "gallery.md").read_text("utf-8")

MOST_BYTES = 1_500_000


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
    assert {each.name for each in FOLDER.glob("*.png")} == taken


def test_each_picture_has_the_width_of_its_window():
    wanted = {f"{name}-{size}.png": SCALE * WIDTHS[size] for name in PICTURES for size in SIZES}
    assert {name: width_of(FOLDER / name) for name in wanted} == wanted


def test_the_pictures_of_the_gallery_are_small():
    shown = set(re.findall(r"pictures/([\w.-]+)", GALLERY))
    assert sum((FOLDER / name).stat().st_size for name in shown) < MOST_BYTES


def test_a_picture_ends_below_the_last_card_or_section_that_fits():
    assert ending([300, 700, 1500], most=1000) == ending([1500, 300, 700], most=710) == 710
    assert ending([300, 700, 1500], most=709) == 310
    with pytest.raises(ValueError, match="no card or section ends within 200 pixels"):
        ending([300], most=200)


def width_of(picture):
    """Read the width of a PNG picture from its header."""
    return struct.unpack(">I", picture.read_bytes()[16:20])[0]
