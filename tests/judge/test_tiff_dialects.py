"""TIFFs whose channels, z planes and times are stated neither by ImageJ nor by OME, and descriptions that claim other
numbers than there are: tifffile says which plane is which."""

import itertools
import struct
import subprocess

import numpy as np
import pytest
import tifffile

T, Z, C = 4, 3, 2
SIZES = {"T": T, "Z": Z, "C": C, "R": 2, "I": T, "Q": T}


def planes(axes, seed=3):
    return np.random.default_rng(seed).integers(0, 60000, (*(SIZES[a] for a in axes), 11, 13), dtype=np.uint16)


def write(path, frames, **keywords):
    tifffile.imwrite(path, frames.reshape(-1, *frames.shape[-2:]), photometric="minisblack", metadata=None, **keywords)


def check_each_plane(dump, path, along="TIQ"):
    """Every choice of channel, z and position is the movie that tifffile gives for it."""
    series = tifffile.TiffFile(path).series[0]
    frames, axes = series.asarray(), series.axes
    axes = axes.replace("S", "")
    frames = frames.reshape(*(size for size, axis in zip(series.shape, series.axes) if axis != "S"))
    others = [axis for axis in axes[:-2] if axis not in along]
    names = {"C": "channel", "Z": "z", "R": "position", "M": "position", "P": "position"}
    for choice in itertools.product(*(range(frames.shape[axes.index(axis)]) for axis in others)):
        picked = tuple(choice[others.index(axis)] if axis in others else slice(None) for axis in axes[:-2])
        given = {names[axis]: k for axis, k in zip(others, choice) if frames.shape[axes.index(axis)] > 1}
        facts, found = dump(path, 3, **given)
        np.testing.assert_array_equal(found, frames[picked].reshape(-1, *frames.shape[-2:]), err_msg=str(given))
        assert facts["warnings"] == []


def refused(dump, path):
    with pytest.raises(AssertionError) as error:
        dump(path)
    return str(error.value)


@pytest.mark.parametrize("axes", ["TC", "CT", "TZC", "ZTC", "RTC", "IC", "QCZ"])
@pytest.mark.parametrize("truncate", [False, True])
def test_tifffile_states_axes(dump, tmp_path, axes, truncate):
    tifffile.imwrite(
        tmp_path / "m.tif", planes(axes), photometric="minisblack", metadata={"axes": axes + "YX"}, truncate=truncate
    )
    check_each_plane(dump, tmp_path / "m.tif")


def test_tifffile_truncates_a_movie(dump, tmp_path):
    frames = planes("T")
    tifffile.imwrite(tmp_path / "m.tif", frames, photometric="minisblack", truncate=True)
    assert len(tifffile.TiffFile(tmp_path / "m.tif").pages) == 1
    facts, found = dump(tmp_path / "m.tif")
    np.testing.assert_array_equal(found, frames)
    assert facts["warnings"] == []
    (tmp_path / "cut.tif").write_bytes((tmp_path / "m.tif").read_bytes()[: -11 * 13 * 3])
    facts, found = dump(tmp_path / "cut.tif")
    np.testing.assert_array_equal(found, frames[:-2])
    assert "page 3 of 4 is truncated" in facts["warnings"][0]
    with tifffile.TiffWriter(tmp_path / "two.tif") as file:
        file.write(frames, photometric="minisblack", truncate=True)
        file.write(frames[:2] + 1, photometric="minisblack", truncate=True)
    facts, found = dump(tmp_path / "two.tif")
    np.testing.assert_array_equal(found, tifffile.TiffFile(tmp_path / "two.tif").series[0].asarray())
    assert "behind the first are other series" in facts["warnings"][0]


@pytest.mark.parametrize(
    "axes,reason", [("TA", "A is neither time"), ("HT", "H is neither time"), ("IT", "I is neither time")]
)
def test_axes_that_are_none_of_a_movie_are_refused(dump, tmp_path, axes, reason):
    frames = np.zeros((4, 2, 11, 13), np.uint16)
    tifffile.imwrite(tmp_path / "m.tif", frames, photometric="minisblack", metadata={"axes": axes + "YX"})
    message = refused(dump, tmp_path / "m.tif")
    assert "m.tif: tifffile's description states the axes" in message and reason in message


def test_shapes_without_axes(dump, tmp_path):
    tifffile.imwrite(tmp_path / "m.tif", planes("TC"), photometric="minisblack")
    message = refused(dump, tmp_path / "m.tif")
    assert (
        "states the shape (4, 2, 11, 13) without axes: which of its 8 planes" in message and "'axes': 'TCYX'" in message
    )
    write(tmp_path / "old.tif", planes("TC"), description="shape=(4, 2, 11, 13)")
    assert "states the shape (4, 2, 11, 13) without axes" in refused(dump, tmp_path / "old.tif")
    for shape in [(4, 11, 13), (1, 4, 11, 13), (4, 1, 11, 13)]:
        tifffile.imwrite(tmp_path / "one.tif", planes("T").reshape(shape), photometric="minisblack")
        np.testing.assert_array_equal(dump(tmp_path / "one.tif")[1], planes("T"))
    tifffile.imwrite(
        tmp_path / "last.tif", np.zeros((4, 11, 13, 2), np.uint16), photometric="minisblack", metadata={"axes": "TYXC"}
    )
    assert "states the axes TYXC, and the last ones of a movie are Y and X" in refused(dump, tmp_path / "last.tif")


@pytest.mark.parametrize("order", ["".join(o) for o in itertools.permutations("czt")] + ["default"])
def test_the_order_of_imagej(dump, tmp_path, order):
    description = (
        f"ImageJ=1.52p\nimages={T * Z * C}\nchannels={C}\nslices={Z}\nframes={T}\nhyperstack=true\norder={order}\n"
    )
    write(tmp_path / "m.tif", planes("TZC"), description=description)
    check_each_plane(dump, tmp_path / "m.tif")


def test_imagej_that_names_channels_alone(dump, tmp_path):
    write(tmp_path / "m.tif", planes("TC"), description=f"ImageJ=1.52p\nimages={T * C}\nchannels={C}\n")
    for c in range(C):
        np.testing.assert_array_equal(dump(tmp_path / "m.tif", channel=c)[1], planes("TC")[:, c])


def scifio(axes):
    names = {"T": "Time", "Z": "Z", "C": "Channel"}
    listed = ["X", "Y", *(names[a] for a in reversed(axes))]
    lengths = [13, 11, *(SIZES[a] for a in reversed(axes))]
    sizes = ",".join(map(str, lengths))
    images = np.prod(lengths[2:])
    return f"SCIFIO=0.41.0\naxes={','.join(listed)}\nlengths={sizes}\nbitsPerPixel=16\nimages={images}\n"


@pytest.mark.parametrize("axes", ["TZC", "CTZ", "TC"])
def test_scifio(dump, tmp_path, axes):
    frames = planes(axes)
    write(tmp_path / "m.tif", frames, description=scifio(axes))
    for c, z in itertools.product(range(C), range(Z) if "Z" in axes else [None]):
        _, found = dump(tmp_path / "m.tif", channel=c, z=z)
        np.testing.assert_array_equal(found, frames[tuple({"C": c, "Z": z}.get(a, slice(None)) for a in axes)])


def lsm_info(t, z, scan_type):
    info = bytearray(512)
    struct.pack_into("<IiiiiiiiiidddIII", info, 0, 0x400494C, 512, 13, 11, z, 1, t, 1, 0, 0, 1e-7, 1e-7, 1e-6, 0, 0, 0)
    struct.pack_into("<H", info, 88, scan_type)
    return bytes(info)


def test_lsm(dump, tmp_path):
    frames = planes("TZ")
    with tifffile.TiffWriter(tmp_path / "m.lsm", byteorder="<") as file:  # a thumbnail behind each page
        for k, frame in enumerate(frames.reshape(-1, 11, 13)):
            tags = [(34412, 1, 512, lsm_info(T, Z, 6), True)] if k == 0 else []
            file.write(frame, photometric="minisblack", metadata=None, extratags=tags)
            file.write(frame[::2, ::2], photometric="minisblack", metadata=None, subfiletype=1)
    check_each_plane(dump, tmp_path / "m.lsm")
    assert dump(tmp_path / "m.lsm", z=1)[0]["pixel_size_nm"] == 100


def test_lsm_of_channels_over_pages_of_one_sample_is_refused(dump, tmp_path):
    info = bytearray(lsm_info(T, 1, 3))
    struct.pack_into("<i", info, 20, C)
    write(tmp_path / "m.lsm", planes("TC"), byteorder="<", extratags=[(34412, 1, 512, bytes(info), True)])
    assert "state 2 channels, and its pages have one sample each" in refused(dump, tmp_path / "m.lsm")


def test_descriptions_of_tifffile_that_break_off(dump, tmp_path):
    whole = tmp_path / "whole.tif"
    tifffile.imwrite(whole, planes("TC"), photometric="minisblack", metadata={"axes": "TCYX"})
    text = tifffile.TiffFile(whole).pages[0].description
    assert text.startswith('{"shape": [4, 2, 11, 13]') and "axes" in text
    write(tmp_path / "m.tif", planes("TC"), description=text[: text.index("]") + 5])
    assert "breaks off before its axes" in refused(dump, tmp_path / "m.tif")
    write(tmp_path / "m.tif", planes("TC"), description=text[: text.index("11")])
    facts, found = dump(tmp_path / "m.tif")
    assert (
        len(found) == T * C and "pages are taken as frames, also if they are several channels" in facts["warnings"][0]
    )
    write(tmp_path / "m.tif", planes("T"), description='{"shape": [4, 11, 13], "ax')  # one axis leaves nothing open
    facts, found = dump(tmp_path / "m.tif")
    np.testing.assert_array_equal(found, planes("T"))
    assert facts["warnings"] == []


def test_ome_sizes_that_contradict_the_pages_are_reported(dump, tmp_path):
    tifffile.imwrite(tmp_path / "m.ome.tif", planes("T"), photometric="minisblack", metadata={"axes": "TYX"})
    assert dump(tmp_path / "m.ome.tif")[0]["warnings"] == []
    text = tifffile.TiffFile(tmp_path / "m.ome.tif").ome_metadata
    assert 'SizeX="13"' in text
    write(tmp_path / "m.tif", planes("T"), description=text.replace('SizeX="13"', 'SizeX="26"'))
    facts, found = dump(tmp_path / "m.tif")
    np.testing.assert_array_equal(found, planes("T"))
    assert any("say frames of 26x11 px, and the pages have 13x11" in warning for warning in facts["warnings"])


def test_fluoview(dump, tmp_path):
    dims = [("X", 13), ("Y", 11), ("Ch", C), ("Z", Z), ("Time", T)]
    header = bytearray(284 + 10 * 100 + 200)
    for k in range(10):
        name, size = dims[k] if k < len(dims) else ("", 0)
        unit = b"um" if k < 2 else b""
        struct.pack_into("<16sidd64s", header, 284 + 100 * k, name.encode(), size, 0.0, 0.2, unit)
    tags = [(34361, 1, len(header), bytes(header), True), (34362, 11, 8, (0.0,) * 8, True)]
    write(tmp_path / "m.tif", planes("TZC"), extratags=tags)
    for c, z in itertools.product(range(C), range(Z)):
        facts, found = dump(tmp_path / "m.tif", channel=c, z=z)
        np.testing.assert_array_equal(found, planes("TZC")[:, z, c])
        assert facts["pixel_size_nm"] == 200


@pytest.mark.parametrize(
    "frames_per_slice,slices,saved", [("inf", 1, "[1;2]"), (str(T), Z, "[1;2]"), (str(T), Z, "[1 4]")]
)
def test_scanimage(dump, tmp_path, frames_per_slice, slices, saved):
    facts = (
        f"SI.VERSION_MAJOR = '2016'\nSI.hChannels.channelSave = {saved}\nSI.hStackManager.framesPerSlice "
        f"= {frames_per_slice}\n"
        f"SI.hStackManager.numSlices = {slices}\n"
    )
    frames = planes("ZTC" if slices > 1 else "TC")
    write(tmp_path / "m.tif", frames, software=facts)
    for c, z in itertools.product(range(C), range(Z) if slices > 1 else [None]):
        _, found = dump(tmp_path / "m.tif", channel=c, z=z)
        np.testing.assert_array_equal(found, frames[z, :, c] if slices > 1 else frames[:, c])


def test_sis(dump, tmp_path):
    ini = b"[Dimension]\r\nBand=2\r\nZ=1\r\nTime=4\r\n[Band]\r\n"
    write(tmp_path / "m.tif", planes("TC"), extratags=[(33471, 2, len(ini) + 1, ini, True)])
    for c in range(C):
        np.testing.assert_array_equal(dump(tmp_path / "m.tif", channel=c)[1], planes("TC")[:, c])


def test_leica_scn_is_refused(dump, tmp_path):
    write(
        tmp_path / "m.tif",
        planes("TC"),
        description='<?xml version="1.0"?><scn xmlns="http://www.leica-microsystems.com/scn"></scn>',
    )
    assert "is a Leica SCN file" in refused(dump, tmp_path / "m.tif")


def imagej(**keys):
    return "ImageJ=1.53t\n" + "".join(f"{key}={value}\n" for key, value in keys.items())


@pytest.mark.parametrize(
    "keys", [{"images": 5000, "frames": 5000}, {"images": 5000}, {"slices": 5000}, {"images": 5000, "slices": 5000}]
)
def test_more_images_than_there_are(dump, tmp_path, keys):
    frames = np.full((400, 32, 32), 7, np.uint16)
    write(tmp_path / "m.tif", frames, description=imagej(**keys))
    facts, found = dump(tmp_path / "m.tif", 50)
    np.testing.assert_array_equal(found, frames)
    assert facts["warnings"] == ["m.tif: the ImageJ description says 5000 images, 400 are there"]
    # One directory, behind its frames: what follows these is no frame.
    pixels, text = frames[:40].tobytes(), imagej(**keys).encode() + b"\0"
    at = 8 + len(pixels)
    tags = [
        (256, 3, 1, 32),
        (257, 3, 1, 32),
        (258, 3, 1, 16),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (270, 2, len(text), at + 2 + 9 * 12 + 4),
        (273, 4, 1, 8),
        (278, 3, 1, 32),
        (279, 4, 1, 2048),
    ]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    (tmp_path / "one.tif").write_bytes(struct.pack("<2sHI", b"II", 42, at) + pixels + directory + text + b"x" * 5000)
    facts, found = dump(tmp_path / "one.tif")
    np.testing.assert_array_equal(found, frames[:40])
    assert "41 of 5000" in facts["warnings"][0]


@pytest.mark.parametrize("ome", [False, True])
def test_a_recording_that_was_stopped(dump, tmp_path, ome):
    """Fewer times than the metadata plan: the channels are still distinguished."""
    frames = planes("TC")
    text = imagej(images=2000, channels=C, frames=1000)
    if ome:
        text = (
            '<?xml version="1.0"?><OME xmlns="x"><Image ID="Image:0"><Pixels ID="Pixels:0" '
            'DimensionOrder="XYCZT" Type="uint16" SizeX="13" '
            f'SizeY="11" SizeC="{C}" SizeZ="1" SizeT="1000"><TiffData/></Pixels></Image></OME>'
        )
    write(tmp_path / "m.tif", frames, description=text)
    for c in range(C):
        facts, found = dump(tmp_path / "m.tif", channel=c)
        np.testing.assert_array_equal(found, frames[:, c])
        assert any("2000 planes" in warning and "8 are there" in warning for warning in facts["warnings"])


def test_stk_of_more_planes_than_there_are(dump, tmp_path):
    frames = np.full((6, 32, 32), 7, np.uint16)
    at = 8 + frames.nbytes
    tags = [
        (256, 3, 1, 32),
        (257, 3, 1, 32),
        (258, 3, 1, 16),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, 1, 8),
        (278, 3, 1, 32),
        (279, 4, 1, 2048),
        (33628, 4, 1, 0),
        (33629, 5, 100, at + 2 + 10 * 12 + 4),
    ]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    (tmp_path / "m.stk").write_bytes(
        struct.pack("<2sHI", b"II", 42, at) + frames.tobytes() + directory + bytes(100 * 24)
    )
    facts, found = dump(tmp_path / "m.stk")
    np.testing.assert_array_equal(found, frames)
    assert "page 7 of 100" in facts["warnings"][0]


def test_stk_of_two_wavelengths(dump, tmp_path):
    frames = planes("TC")
    n, at = T * C, 8 + frames.nbytes
    uic2 = at + 2 + 11 * 12 + 4
    tags = [
        (256, 3, 1, 13),
        (257, 3, 1, 11),
        (258, 3, 1, 16),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, 1, 8),
        (278, 3, 1, 11),
        (279, 4, 1, 286),
        (33628, 4, 1, 0),
        (33629, 5, n, uic2),
        (33630, 5, n, uic2 + 24 * n),
    ]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    waves = b"".join(struct.pack("<II", (488, 561)[k % 2], 1) for k in range(n))
    (tmp_path / "m.stk").write_bytes(
        struct.pack("<2sHI", b"II", 42, at) + frames.tobytes() + directory + bytes(n * 24) + waves
    )
    np.testing.assert_array_equal(dump(tmp_path / "m.stk", channel="561")[1], frames[:, 1])


def test_the_error_lists_the_channels(program, tmp_path):
    tifffile.imwrite(tmp_path / "m.tif", planes("TC"), photometric="minisblack", metadata={"axes": "TCYX"})
    done = subprocess.run(
        [
            program,
            "localize",
            "m.tif",
            "-o",
            "l.csv",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "0",
            "--gain",
            "1",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "has 2 channels" in done.stderr and "--channel 0 to 1" in done.stderr
