"""Reference tests of movies from camera and microscope programs: other packages read the same files.

The files are written here, byte by byte; a package that is not installed skips its comparison with the reason."""

import struct

import numpy as np
import pytest


def movie(dtype, frames=7, height=37, width=53, seed=1):
    """Numbers over all of the type's range, or fractions."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(300, 100, (frames, height, width)).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, (frames, height, width), dtype, endpoint=True)


def needs(package):
    """The package, or a skipped test that says which is missing."""
    return pytest.importorskip(package, reason=f"{package} is not installed: pip install {package.partition('.')[0]}")


def sif_header(frames, version, left=11, bottom=21, bins=(1, 1), second_times=False, data_set=""):
    """The header of Andor Solis; `bins`: along y and x."""
    count, height, width = frames.shape
    settings = (
        f"{version} 0 0 1 1540956289 -70 ".encode()
        + b"\x01 \x01 \x01 \x00 \x00 "
        + b"0 0.03 0.03 0.03 1 "
        + b"\x00 "
        + b"0.031 1e-07 512 1 300 0 0 0 1 1 "
        + b"\x00 \x01 "
        + b"256 0 1 0 1 1 2 0 0 0 30 0 3.3e-06 0 5.1 8765 0 1 -70 1 0 1 0 4 30 "
        b"30061 0 0 2 104 30061 0 0 0 15\n"
    )
    user_text = b"written by a test\n"
    lines = [
        b"DU897_BV",
        b"512 512 12",
        b"C:\\data\\m.sif ",
        b"65538 %d" % len(user_text),
        user_text,
        b"65538 \x01 \x00 \x01 \x00 20 0",
    ]
    lines += [
        b"65540 0 0 500 0 0 1200",
        b"0 0",
        b"0 0",
        b"0 0",
        b"0 0 0",
        b"0 0",
        b"0 0",
        b"65538 0 0 500 0",
        b"65536 None ",
    ]
    if version >= 65566:
        lines += [b"intensifier", b"1 2 3 4 5 6 7 8 9", b"0", b"0", b"0", b"0", b"0", b"0", b"0"]
    lines += [b"65539 \x01 \x00 \x01 \x00 \x01 \x00", b"0 1 0 0", b"0 1 0 0", b"0 1 0 0", b"0", b"16", b"16", b"12"]
    top, right = bottom + height * bins[0] - 1, left + width * bins[1] - 1
    lines += [
        b"Pixel number6",
        b"Counts12",
        b"Pixel number65541 1 512 512 1 %d 1 %d %d" % (count, frames.size, height * width),
        b"65538 %d %d %d %d %d %d 0" % (left, top, right, bottom, *bins),
    ]
    lines += [b"%10d" % (30000 * k) for k in range(count)]
    if version >= 65559:
        lines += [b"1"] + [b"%d" % (30000 + k) for k in range(count)] if second_times else [b"0"]
    return b"Andor Technology Multi-Channel File\n65538 1\n" + settings + b"\n".join(lines) + b"\n"


@pytest.mark.parametrize(
    "version,bins,second_times", [(65559, (1, 1), False), (65567, (1, 1), True), (65567, (2, 4), False)]
)
def test_sif(dump, tmp_path, version, bins, second_times):
    frames = movie("float32")
    path = tmp_path / "movie.sif"
    path.write_bytes(
        sif_header(frames, version, bins=bins, second_times=second_times) + frames.tobytes() + b"0\n0\n0\n0\n"
    )
    facts, found = dump(path)
    assert facts["warnings"] == []
    assert facts["exposure_ms"] == pytest.approx(30)
    np.testing.assert_array_equal(found, frames)
    sif_parser = needs("sif_parser")
    judged, _ = sif_parser.np_open(str(path))
    np.testing.assert_array_equal(found, judged)


@pytest.mark.parametrize("dtype,files,padding", [("uint16", 1, 0), ("uint16", 5, 64), ("uint32", 5, 128)])
def test_spool(dump, tmp_path, dtype, files, padding):
    """Frames of Andor Solis in files whose names have their digits in reverse order; gaps behind rows and frames."""
    frames = movie(dtype, frames=20)
    if dtype == "uint32":
        frames >>= 8
    _, height, width = frames.shape
    encoding = {"uint16": "Mono16", "uint32": "Mono32"}[dtype]
    rows = np.zeros((len(frames), height, width + 3), dtype)
    rows[:, :, :width] = frames
    stored = [frame.tobytes() + bytes(padding) for frame in rows]
    for number in range(len(frames) // files):
        (tmp_path / (f"{number:010}"[::-1] + "spool.dat")).write_bytes(
            b"".join(stored[number * files : (number + 1) * files])
        )
    (tmp_path / "acquisitionmetadata.ini").write_text(
        f"[data]\nAOIHeight = {height}\nAOIWidth = {width}\nAOIStride = {rows.strides[1]}\nPixelEncoding = {encoding}\n"
        f"ImageSizeBytes = {len(stored[0])}\n\n[multiimage]\nImagesPerFile = {files}\n"
    )
    (tmp_path / "Spooled files.sifx").write_bytes(
        sif_header(frames, 65567).replace(b"\n512 512 12", b"\n%d %d 12" % (width, height))
    )
    facts, found = dump(tmp_path)
    assert facts["warnings"] == []
    assert facts["exposure_ms"] == pytest.approx(30)
    np.testing.assert_array_equal(found, frames if dtype == "uint16" else frames.astype("float32"))
    sif_parser = needs("sif_parser")
    if not hasattr(sif_parser, "np_spool_open"):
        pytest.skip("this version of sif_parser does not read spooled frames: pip install --upgrade sif_parser")
    judged, _ = sif_parser.np_spool_open(str(tmp_path))
    np.testing.assert_array_equal(found, judged)


def dcimg(frames, version, row_gap=0, moved_line=1, top=1000, bin=1, footer=32):
    """A file of Hamamatsu; in newer versions the moved pixels are those of the sensor's line 1023."""
    count, height, width = frames.shape
    rows = np.zeros((count, height, width * frames.itemsize + row_gap), np.uint8)
    rows[:, :, : width * frames.itemsize] = frames.view(np.uint8).reshape(count, height, -1)
    row, size = rows.shape[2], rows[0].nbytes
    line = moved_line if version == 7 else (1023 - top) // bin
    moved = [b""] * count
    if 0 <= line < height:
        moved = [bytes(one[line, :8]) for one in rows]
        rows[:, line, :8] = np.frombuffer(b"\xff\xff\0\0\xff\xff\0\0", np.uint8)
    header = bytearray(232)
    header[:5] = b"DCIMG"
    session = bytearray(84 if version == 7 else 760)
    put = lambda into, form, at, *values: struct.pack_into("<" + form, into, at, *values)
    put(header, "I", 8, version)
    put(header, "III", 32, 1, count, len(header))
    if version == 7:
        put(session, "II", 32, count, frames.itemsize)
        put(session, "IIII", 44, width, row, height, size)
        put(session, "IQ", 68, len(session), len(session) + rows.nbytes)
        body = rows.tobytes()
        end = bytearray(300)
        put(end, "IIQ", 0, 7, 0, 120)
        put(end, "I", 40, len(end) + 8 * count)
        put(end, "Q", 120 + 88, len(end))
        put(end, "IQ", 120 + 100, moved_line * row, 8)
        body += bytes(end) + b"".join(moved)
    else:
        put(session, "II", 60, count, frames.itemsize)
        put(session, "IIII", 72, width, height, row, size)
        put(session, "Q", 96, len(session))
        put(session, "I", 116, size + footer)
        put(session, "I", 124, footer)
        put(session, "HHHH", 712, 0, width * bin, top, height * bin)
        body = b"".join(
            one.tobytes() + bytes(12) + pixels.ljust(8, b"\0") + bytes(footer - 20) for one, pixels in zip(rows, moved)
        )
    put(header, "Q", 48, len(header) + len(session) + len(body))
    put(header, "Q", 64, len(header) + len(session) + len(body))
    return bytes(header + session) + body


# The package corrects the first line alone in files of version 7.
@pytest.mark.parametrize(
    "options",
    [
        dict(version=7, moved_line=0),
        dict(version=7, moved_line=0, row_gap=6),
        dict(version=0x1000000),
        dict(version=0x1000000, top=990, bin=2),
        dict(version=0x1000000, top=10, row_gap=4),
    ],
)
def test_dcimg(dump, tmp_path, options):
    frames = movie("uint16")
    path = tmp_path / "movie.dcimg"
    path.write_bytes(dcimg(frames, **options))
    facts, found = dump(path)
    assert facts["warnings"] == []
    np.testing.assert_array_equal(found, frames)
    package = needs("dcimg")
    if package.__version__ < "0.6.1" and np.__version__ >= "2":
        pytest.skip(f"dcimg {package.__version__} fails with NumPy {np.__version__}: it needs one before 2")
    with package.DCIMGFile(str(path)) as judged:
        np.testing.assert_array_equal(found, judged[:])


LIF_DIMENSIONS = {"X": 1, "Y": 2, "Z": 3, "T": 4}


def lif(images, version=2):
    """A file of Leica. `images`: an array each, whose axes are named, the slowest first; C are channels."""
    elements, blocks = "", b""
    for number, (name, axes, array) in enumerate(images):
        steps = dict(zip(axes, array.strides))
        counts = dict(zip(axes, array.shape))
        kind, bits = (1, 32) if array.dtype.kind == "f" else (0, 8 * array.itemsize)
        channels = "".join(
            f'<ChannelDescription DataType="{kind}" ChannelTag="0" Resolution="{bits}" '
            f'NameOfMeasuredQuantity="" Min="0" Max="1" Unit="" '
            f'LUTName="Colour {c}" IsLUTInverted="0" BytesInc="{c * steps.get("C", 0)}" BitInc="0"/>'
            for c in range(counts.get("C", 1))
        )
        dimensions = "".join(
            f'<DimensionDescription DimID="{LIF_DIMENSIONS[axis]}" NumberOfElements="{counts[axis]}" Origin="0" '
            f'Length="{(counts[axis] - 1) * 1.1e-7}" Unit="m" BitInc="0" BytesInc="{steps[axis]}"/>'
            for axis in reversed(axes)
            if axis != "C"
        )
        elements += (
            f'<Element Name="{name}"><Data><Image><ImageDescription><Channels>{channels}</Channels>'
            f"<Dimensions>{dimensions}</Dimensions></ImageDescription></Image></Data>"
            f'<Memory Size="{array.nbytes}" MemoryBlockID="MemBlock_{number}"/><Children/></Element>'
        )
        block = f"MemBlock_{number}".encode("utf-16-le")
        blocks += struct.pack(
            "<IIB" + ("Q" if version == 2 else "I") + "BI",
            0x70,
            len(block) + 10,
            0x2A,
            array.nbytes,
            0x2A,
            len(block) // 2,
        )
        blocks += block + array.tobytes()
    xml = (
        f'<LMSDataContainerHeader Version="{version}"><Element Name="whole.lif"><Data/><Memory Size="0" '
        f'MemoryBlockID="MemBlock_whole"/>'
        f"<Children>{elements}</Children></Element></LMSDataContainerHeader>"
    ).encode("utf-16-le")
    return struct.pack("<IIBI", 0x70, len(xml) + 5, 0x2A, len(xml) // 2) + xml + blocks


@pytest.mark.parametrize("package", ["liffile", "readlif.reader"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_lif(dump, tmp_path, package, version, dtype):
    """Two images: a series, and one of channels, z planes and times."""
    series = movie(dtype)
    hyperstack = movie(dtype, frames=5 * 3 * 2, seed=2).reshape(5, 3, 2, 37, 53)  # times, z planes, channels
    path = tmp_path / "m\u00fc.lif"
    path.write_bytes(lif([("Series001", "TYX", series), ("H\u00fclle", "TZCYX", hyperstack)], version))
    facts, found = dump(path, position=0)
    assert facts["warnings"] == []
    assert facts["pixel_size_nm"] == pytest.approx(110)
    np.testing.assert_array_equal(found, series)
    _, chosen = dump(path, position="H\u00fclle", channel="Colour 1", z=2)
    np.testing.assert_array_equal(chosen, hyperstack[:, 2, 1])
    judge = needs(package)
    if package == "liffile":
        with judge.LifFile(path) as file:
            np.testing.assert_array_equal(found, file.images[0].asarray())
            assert file.images[1].dims == ("T", "Z", "C", "Y", "X")
            np.testing.assert_array_equal(chosen, file.images[1].asarray()[:, 2, 1])
    elif dtype == "uint16":
        file = judge.LifFile(path)
        np.testing.assert_array_equal(found, [np.asarray(one) for one in file.get_image(0).get_iter_t()])
        np.testing.assert_array_equal(chosen, [np.asarray(one) for one in file.get_image(1).get_iter_t(z=2, c=1)])


@pytest.mark.parametrize("axes,shape", [("CTYX", (2, 6, 37, 53)), ("TYXC", (6, 37, 53, 2)), ("TYCX", (6, 37, 2, 53))])
def test_lif_orders(dump, tmp_path, axes, shape):
    array = np.random.default_rng(3).integers(0, 65535, shape, np.uint16)
    (tmp_path / "movie.lif").write_bytes(lif([("Series001", axes, array)]))
    _, found = dump(tmp_path / "movie.lif", channel=1)
    np.testing.assert_array_equal(found, np.moveaxis(array, axes.index("C"), 0)[1])
    judge = needs("liffile")
    with judge.LifFile(tmp_path / "movie.lif") as file:
        names = file.images[0].dims
        judged = file.images[0].asarray()
        np.testing.assert_array_equal(
            found, np.moveaxis(judged, next(k for k, name in enumerate(names) if name in "CS"), 0)[1]
        )


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("writer", ["PIL.Image", "imageio.v3"])
def test_pngs(dump, tmp_path, dtype, writer):
    """Files that Pillow and ImageIO write, in a folder, in the natural order of their names."""
    package = needs(writer)
    frames = movie(dtype, frames=12)
    for k, frame in enumerate(frames):
        if writer == "imageio.v3":
            package.imwrite(tmp_path / f"img_{k}.png", frame)
        else:
            package.fromarray(frame).save(tmp_path / f"img_{k}.png", optimize=True)
    facts, found = dump(tmp_path)
    assert facts["warnings"] == []
    np.testing.assert_array_equal(found, frames)
    image = needs("PIL.Image").open(
        tmp_path / "img_3.png", formats=["PNG"]
    )  # sif_parser's plugin fails on every other file
    np.testing.assert_array_equal(found[3], np.asarray(image))
