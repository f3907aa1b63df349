"""Reference tests of movie formats other than TIFF: all pixels must equal those of programs for these formats."""

import re
import struct
import subprocess

import h5py
import imageio.v3 as imageio
import numpy as np
import pytest
import scipy.io
import tifffile
from astropy.io import fits


def movie(dtype, frames=7, height=37, width=53, seed=1):
    """Numbers over all of the type's range, or fractions."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(300, 100, (frames, height, width)).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, (frames, height, width), dtype, endpoint=True)


def as_read(frames):
    """Converts to the type that glint uses for it: float32 if it has no equal type."""
    return frames if frames.dtype in (np.uint8, np.uint16, np.float32) else frames.astype(np.float32)


def storm_analysis_frames(path):
    """A DAX as storm-analysis reads it: by the dimensions and the byte order of the .inf."""
    text = path.with_suffix(".inf").read_text()
    width, height = map(int, re.search(r"frame dimensions = (\d+) x (\d+)", text).groups())
    order = {"big": ">", "little": "<"}[re.search(r" (big|little) endian", text).group(1)]
    return np.fromfile(path, order + "u2").reshape(-1, height, width)


@pytest.mark.parametrize("name,shape", [("test_spliner.dax", (20, 256, 256)), ("test_300x200_dh.dax", (5, 200, 300))])
def test_dax(dump, data, name, shape):
    facts, found = dump(data / name)
    assert facts["warnings"] == []
    assert (found.shape, facts["type"]) == (shape, "uint16")
    np.testing.assert_array_equal(found, storm_analysis_frames(data / name))


SPE_TYPES = {"float32": 0, "int32": 1, "int16": 2, "uint16": 3, "float64": 5, "uint8": 6, "uint32": 8}
SPE_FORMATS = {"uint16": "MonochromeUnsigned16", "uint32": "MonochromeUnsigned32", "float32": "MonochromeFloating32"}


def spe_header(frames, version, footer_at=0):
    header = bytearray(4100)
    for at, form, value in [
        (10, "f", 0.05),
        (42, "H", frames.shape[2]),
        (108, "h", SPE_TYPES[frames.dtype.name]),
        (656, "H", frames.shape[1]),
        (678, "Q", footer_at),
        (1446, "i", len(frames)),
        (1510, "h", 1),
        (1992, "f", version),
        (2996, "i", 0x01234567),
        (4098, "H", 0x5555),
    ]:
        struct.pack_into("<" + form, header, at, value)
    return bytes(header)


def spe_footer(frames, stride):
    _, height, width = frames.shape
    pixels, size = SPE_FORMATS[frames.dtype.name], frames[0].nbytes
    return f"""<SpeFormat version="3.0" xmlns="http://www.princetoninstruments.com/spe/2009"><DataFormat>
<DataBlock type="Frame" count="{len(frames)}" pixelFormat="{pixels}" size="{size}" stride="{stride}">
<DataBlock type="Region" count="1" width="{width}" height="{height}" size="{size}" stride="{size}" />
</DataBlock></DataFormat></SpeFormat>""".encode()


def test_real_spe(dump, data):
    facts, found = dump(data / "spestack_test.spe")
    assert facts["warnings"] == []
    np.testing.assert_array_equal(found, imageio.imread(data / "spestack_test.spe", plugin="SPE", index=...))


@pytest.mark.parametrize("dtype", ["float32", "int32", "int16", "uint16"])
def test_spe_2(dump, tmp_path, dtype):
    frames = movie(dtype)
    (tmp_path / "movie.spe").write_bytes(spe_header(frames, 2.5) + frames.tobytes())
    facts, found = dump(tmp_path / "movie.spe")
    assert facts["exposure_ms"] == pytest.approx(50)
    np.testing.assert_array_equal(found, as_read(imageio.imread(tmp_path / "movie.spe", plugin="SPE", index=...)))
    np.testing.assert_array_equal(found, as_read(frames))


@pytest.mark.parametrize("dtype", SPE_FORMATS)
@pytest.mark.parametrize("stamps", [0, 16])
def test_spe_3(dump, tmp_path, dtype, stamps):
    """ImageIO does not read time stamps between the frames, so NumPy is the reference for these files."""
    frames = movie(dtype)
    stored = b"".join(frame.tobytes() + b"T" * stamps for frame in frames)
    footer = spe_footer(frames, frames[0].nbytes + stamps)
    (tmp_path / "movie.spe").write_bytes(spe_header(frames, 3, 4100 + len(stored)) + stored + footer)
    facts, found = dump(tmp_path / "movie.spe")
    assert facts["warnings"] == []
    if not stamps and dtype != "uint32":
        np.testing.assert_array_equal(found, imageio.imread(tmp_path / "movie.spe", plugin="SPE", index=...))
    np.testing.assert_array_equal(found, as_read(frames))


def frames_of(path):
    with fits.open(path) as file:
        return next(unit.data for unit in file if unit.data is not None and unit.data.ndim >= 2)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "float32", "float64"]
)
def test_fits(dump, tmp_path, dtype):
    frames = movie(dtype)
    unit = fits.PrimaryHDU(frames)
    unit.header["EXPTIME"] = 0.05
    unit.header["CAMERA"] = "O'Neill's / 2"
    unit.header["GAIN"] = (0.46, "[e-/ADU]")
    unit.writeto(tmp_path / "movie.fits")
    facts, found = dump(tmp_path / "movie.fits")
    assert facts["warnings"] == []
    assert (facts["exposure_ms"], facts["camera"], facts["gain_e_per_adu"]) == (50, "O'Neill's / 2", 0.46)
    np.testing.assert_array_equal(found, as_read(frames_of(tmp_path / "movie.fits")))
    np.testing.assert_array_equal(found, as_read(frames))


def test_scaled_fits(dump, tmp_path):
    unit = fits.PrimaryHDU(movie("float64"))
    unit.scale("int16", bscale=0.25, bzero=17.5)
    unit.writeto(tmp_path / "movie.fits")
    np.testing.assert_array_equal(dump(tmp_path / "movie.fits")[1], as_read(frames_of(tmp_path / "movie.fits")))


def test_fits_behind_a_table(dump, tmp_path):
    frames = movie("uint16")[:1]
    table = fits.BinTableHDU.from_columns([fits.Column("x", "E", array=np.arange(1000.0))])
    fits.HDUList([fits.PrimaryHDU(), table, fits.ImageHDU(frames[0])]).writeto(tmp_path / "movie.fits")
    np.testing.assert_array_equal(dump(tmp_path / "movie.fits")[1], frames)


def test_compressed_fits_is_refused(program, tmp_path):
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(movie("uint16"))]).writeto(tmp_path / "movie.fits")
    done = subprocess.run(
        [
            program,
            "localize",
            tmp_path / "movie.fits",
            "-o",
            tmp_path / "out.hdf5",
            "--sigma",
            "130nm",
            "--pixel-size",
            "100nm",
            "--offset",
            "100",
            "--gain",
            "1",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "movie.fits: its frames are compressed tiles" in done.stderr and "funpack" in done.stderr


def stk(frames, nm=160):
    """A stack as MetaMorph lays it out: pixels, values of its tags, one directory. tifffile reads them and writes
    none.
    """
    planes, height, width = frames.shape
    out = bytearray(b"II*\0" + bytes(4) + frames.tobytes())

    def add(values):
        out.extend(values)
        return len(out) - len(values)

    size = add(struct.pack("<2I", nm, 1000))
    unit = add(struct.pack("<I3s", 3, b"um\0"))
    uic1 = add(struct.pack("<8I", 3, 1, 4, size, 5, size, 6, unit))
    uic2 = add(b"".join(struct.pack("<6I", 0, 1, 2457000, 1000 * k, 0, 0) for k in range(planes)))
    text = b"Exposure: 50 ms\r\n\0"
    description = add(text)
    struct.pack_into("<I", out, 4, len(out))
    bits = 8 * frames.itemsize
    entries = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 1, bits),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (270, 2, len(text), description),
        (273, 4, 1, 8),
        (277, 3, 1, 1),
        (278, 4, 1, height),
        (279, 4, 1, frames[0].nbytes),
        (33628, 4, 4, uic1),
        (33629, 5, planes, uic2),
    ]
    out.extend(struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4))
    return bytes(out)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("planes", [1, 2, 7])
def test_stk(dump, tmp_path, dtype, planes):
    frames = movie(dtype, frames=planes)
    (tmp_path / "movie.stk").write_bytes(stk(frames))
    facts, found = dump(tmp_path / "movie.stk")
    assert facts["warnings"] == []
    assert (facts["pixel_size_nm"], facts["exposure_ms"]) == (160, 50)
    with tifffile.TiffFile(tmp_path / "movie.stk") as file:
        assert file.is_stk
        assert file.stk_metadata["XCalibration"] == 0.16
        np.testing.assert_array_equal(found, file.asarray().reshape(found.shape))
    np.testing.assert_array_equal(found, frames)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "float32", "float64"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_mat(dump, tmp_path, dtype, packed):
    """Frames are the third dimension, rows and columns those that MATLAB shows."""
    frames = movie(dtype)
    scipy.io.savemat(
        tmp_path / "movie.mat", {"gain": 0.5, "movie": frames.transpose(1, 2, 0), "name": "x"}, do_compression=packed
    )
    facts, found = dump(tmp_path / "movie.mat")
    assert facts["warnings"] == []
    np.testing.assert_array_equal(found, as_read(scipy.io.loadmat(tmp_path / "movie.mat")["movie"].transpose(2, 0, 1)))
    np.testing.assert_array_equal(found, as_read(frames))


def test_large_packed_mat(dump, tmp_path):
    """Longer than what lies between the places where unpacking begins."""
    frames = np.random.default_rng(1).poisson(100, (200, 256, 250)).astype("uint16")
    scipy.io.savemat(tmp_path / "movie.mat", {"movie": frames.transpose(1, 2, 0)}, do_compression=True)
    np.testing.assert_array_equal(dump(tmp_path / "movie.mat", frames_per_block=32)[1], frames)


def save_7_3(path, frames, **storage):
    """As MATLAB saves an array of rows, columns and frames with -v7.3: dimensions the other way round, behind a header
    of its own.
    """
    with h5py.File(path, "w", userblock_size=512) as file:
        movie = file.create_dataset("movie", data=frames.transpose(0, 2, 1), **storage)
        movie.attrs["MATLAB_class"] = np.bytes_(
            {"float32": "single", "float64": "double"}.get(frames.dtype.name, frames.dtype.name)
        )
        file.create_dataset("gain", data=[[0.5]])
        file.create_dataset("mask", data=np.ones((2, 3, 4), "uint8")).attrs["MATLAB_class"] = np.bytes_("logical")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", ">u2", "int16", "uint32", "int64", "float32", "float64"])
@pytest.mark.parametrize(
    "storage",
    [
        {},
        {"chunks": (3, 20, 10), "compression": 3},
        {"chunks": (1, 53, 37), "compression": 3, "shuffle": True},
        {"chunks": (10, 64, 64)},
    ],
    ids=["contiguous", "deflate", "shuffle", "one chunk"],
)
def test_mat_7_3(dump, tmp_path, dtype, storage):
    if storage.get("chunks", (0,))[0] == 10:
        storage = {"chunks": (10, 53, 37), "maxshape": (None, 53, 37)}
    frames = movie(np.dtype(dtype).newbyteorder("=")).astype(dtype)
    save_7_3(tmp_path / "movie.mat", frames, **storage)
    facts, found = dump(tmp_path / "movie.mat")
    assert facts["warnings"] == []
    with h5py.File(tmp_path / "movie.mat") as file:
        stored = file["movie"][()].transpose(0, 2, 1)
    np.testing.assert_array_equal(found, as_read(stored.astype(stored.dtype.newbyteorder("="))))
    np.testing.assert_array_equal(found, as_read(frames.astype(frames.dtype.newbyteorder("="))))
