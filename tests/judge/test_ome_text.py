"""Texts of OME-XML with character references and encodings, as Python's XML parser understands them."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import tifffile


def ome(attributes="", channels=("",), frames=4, body="<TiffData/>"):
    names = "".join(f'<Channel ID="Channel:0:{k}" Name="{name}"/>' for k, name in enumerate(channels))
    return (
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels '
        'ID="Pixels:0" DimensionOrder="XYCZT" '
        f'Type="uint16" SizeX="9" SizeY="8" SizeC="{len(channels)}" SizeZ="1" SizeT="{frames}" '
        f"{attributes}>{names}{body}</Pixels></Image></OME>"
    )


def movie(path, text, frames=4, channels=1, first=0):
    pixels = np.arange(first, first + frames * channels, dtype=np.uint16)[:, None, None] + np.zeros(
        (1, 8, 9), np.uint16
    )
    tifffile.imwrite(
        path,
        pixels,
        photometric="minisblack",
        description=text if isinstance(text, bytes) else text.encode(),
        metadata=None,
    )
    return pixels


@pytest.mark.parametrize("unit", ["&#181;m", "&#xB5;m", "&#x3bc;m", "\u00b5m", "um"])
def test_units(dump, tmp_path, unit):
    movie(
        tmp_path / "m.ome.tif",
        ome(f'PhysicalSizeX="0.1" PhysicalSizeXUnit="{unit}" PhysicalSizeY="0.1" PhysicalSizeYUnit="{unit}"'),
    )
    assert dump(tmp_path / "m.ome.tif")[0]["pixel_size_nm"] == 100


def test_text_in_latin_1(dump, tmp_path):
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>' + ome(
        'PhysicalSizeX="0.1" PhysicalSizeXUnit="\u00b5m"', ["gr\u00fcn", "rot"], 2
    )
    movie(tmp_path / "m.ome.tif", text.encode("latin-1"))
    facts, found = dump(tmp_path / "m.ome.tif", channel="gr\u00fcn")
    np.testing.assert_array_equal(found[:, 0, 0], [0, 2])
    assert facts["pixel_size_nm"] == 100


@pytest.mark.parametrize(
    "names",
    [
        ("A &gt; B", "C &amp; D"),
        ("A > B", "&lt;x&gt;"),
        ("gr&#252;n", "&quot;rot&quot;"),
        ("&#x1F52C;", "&apos;1&apos;"),
    ],
)
def test_names_of_channels(dump, tmp_path, names):
    movie(tmp_path / "m.ome.tif", ome(channels=names, frames=2))
    for k, channel in enumerate(
        ElementTree.fromstring(ome(channels=names)).iter("{http://www.openmicroscopy.org/Schemas/OME/2016-06}Channel")
    ):
        _, found = dump(tmp_path / "m.ome.tif", channel=channel.get("Name"))
        np.testing.assert_array_equal(found[:, 0, 0], [k, k + 2])


@pytest.mark.parametrize("name", ["gr\u00fcn", "a & b", "1 > 0"])
def test_files_of_a_set(dump, tmp_path, name):
    names = [f"{name}_{k}.ome.tif" for k in "ab"]
    written = [file.replace("&", "&amp;").replace("\u00fc", "&#252;").replace(">", "&gt;") for file in names]
    placed = "".join(
        f'<TiffData IFD="{k}" FirstT="{4 * f + k}" FirstC="0" FirstZ="0" PlaneCount="1"><UUID FileName="{written[f]}">'
        f"urn:uuid:0000000{f}-0000-4000-8000-000000000000</UUID></TiffData>"
        for f in range(2)
        for k in range(4)
    )
    for f in range(2):
        movie(
            tmp_path / names[f],
            ome(frames=8, body=placed).replace(
                "<OME ", f'<OME UUID="urn:uuid:0000000{f}-0000-4000-8000-000000000000" '
            ),
            first=4 * f,
        )
    for file in names:
        facts, found = dump(tmp_path / file)
        np.testing.assert_array_equal(found[:, 0, 0], np.arange(8))
        assert facts["warnings"] == []


def test_a_text_that_is_cut_off_gives_what_stands_before(dump, tmp_path):
    text = ome('PhysicalSizeX="0.1"', frames=4)
    movie(tmp_path / "m.tif", text[: text.index("<TiffData")] + "<TiffData IFD=")
    facts, found = dump(tmp_path / "m.tif")
    assert facts["pixel_size_nm"] == 100 and len(found) == 4
