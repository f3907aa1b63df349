"""OME-TIFFs whose metadata place pages in another order, or in other files: tifffile reads the same set by the same
metadata.
"""

import itertools

import numpy as np
import pytest
import tifffile

T, Z, C = 5, 2, 2
SIZES = {"T": T, "Z": Z, "C": C}


def metadata(order, placed, name):
    """OME-XML: `placed` has (file, page, {axis: index}) of each plane."""
    elements = "".join(
        f'<TiffData IFD="{page}" PlaneCount="1" '
        + " ".join(f'First{axis}="{k}"' for axis, k in at.items())
        + f'><UUID FileName="{file}">urn:uuid:{file}</UUID></TiffData>'
        for file, page, at in placed
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
        f'UUID="urn:uuid:{name}"><Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XY{order}" '
        f'Type="uint16" SizeX="13" '
        f'SizeY="11" SizeT="{T}" SizeZ="{Z}" SizeC="{C}" PhysicalSizeX="0.1" PhysicalSizeY="0.1">'
        '<Channel ID="Channel:0:0" SamplesPerPixel="1" Name="Cy3"/><Channel ID="Channel:0:1" '
        'SamplesPerPixel="1" Name="GFP"/>'
        f"{elements}</Pixels></Image></OME>"
    )


def write_set(folder, order, file_of, seed):
    """Planes in an order drawn by lot, each in the file that `file_of(t, z, c)` names; the movie as (t, z, c, y, x)."""
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 60000, (T, Z, C, 11, 13), dtype=np.uint16)
    planes = rng.permutation(list(np.ndindex(T, Z, C)))
    pages, placed = {}, []
    for t, z, c in planes:
        name = file_of(t, z, c)
        pages.setdefault(name, []).append(frames[t, z, c])
        placed.append((name, len(pages[name]) - 1, {"T": t, "Z": z, "C": c}))
    for name, planes in pages.items():
        with tifffile.TiffWriter(folder / name) as file:
            for k, plane in enumerate(planes):
                file.write(
                    plane,
                    metadata=None,
                    contiguous=False,
                    description=metadata(order, placed, name) if k == 0 else None,
                )
    return frames, [folder / name for name in sorted(pages)]


FILES = {
    "one file": lambda t, z, c: "a.ome.tif",
    "by time": lambda t, z, c: f"a_{t // 2}.ome.tif",
    "by z": lambda t, z, c: f"a_z{z}.ome.tif",
    "by lot": lambda t, z, c: f"a_{(3 * t + z + c) % 3}.ome.tif",
}


@pytest.mark.parametrize("order", ["".join(one) for one in itertools.permutations("TZC")])
@pytest.mark.parametrize("files", FILES)
def test_any_file_gives_the_whole_movie(dump, tmp_path, order, files):
    frames, paths = write_set(tmp_path, order, FILES[files], seed=len(order + files))
    judge = tifffile.TiffFile(paths[0]).series[0]
    np.testing.assert_array_equal(judge.asarray().transpose([judge.axes.index(axis) for axis in "TZCYX"]), frames)
    z, channel = np.random.default_rng(7).integers(0, 2, 2)
    for path in paths:
        facts, found = dump(path, z=z, channel=["Cy3", "GFP"][channel])
        np.testing.assert_array_equal(found, frames[:, z, channel])
        assert facts["warnings"] == [] and facts["pixel_size_nm"] == 100
    if len(paths) > 1:
        np.testing.assert_array_equal(dump(tmp_path, z=z, channel=channel)[1], frames[:, z, channel])
    for also in (paths[1:], paths[:0:-1]):
        np.testing.assert_array_equal(dump(paths[0], also=also, z=z, channel=channel)[1], frames[:, z, channel])


def test_files_of_a_channel_each(dump, tmp_path):
    frames, paths = write_set(tmp_path, "ZCT", lambda t, z, c: f"a_c{c}.ome.tif", seed=3)
    for c, path in enumerate(paths):
        np.testing.assert_array_equal(dump(path, z=1)[1], frames[:, 1, c])
        np.testing.assert_array_equal(dump(path, z=1, channel=1 - c)[1], frames[:, 1, 1 - c])


def test_each_list_of_a_set_is_one_movie(glint, tmp_path):
    """As a shell's *.tif gives it: a movie for each file would count its frames several times."""
    _, paths = write_set(tmp_path, "ZCT", FILES["by time"], seed=4)
    given = ["--sigma", "130nm", "--pixel-size", "100nm", "--offset", "0", "--gain", "1", "--z", "0", "--channel", "0"]
    glint("localize", *paths, "-o", tmp_path / "results", *given)
    assert [path.name for path in (tmp_path / "results").glob("*.hdf5")] == ["a_0.hdf5"]


def test_continuations_of_micromanager_are_one_movie(dump, tmp_path):
    frames = np.random.default_rng(5).integers(0, 60000, (9, 11, 13), dtype=np.uint16)
    paths = [tmp_path / f"a_MMStack_Pos0{number}.ome.tif" for number in ("", "_1", "_2")]
    for path, part in zip(paths, (frames[:4], frames[4:7], frames[7:])):
        tifffile.imwrite(path, part, photometric="minisblack", metadata=None)
    for given in itertools.permutations(paths):
        np.testing.assert_array_equal(dump(given[0], also=given[1:])[1], frames)
