"""Reference tests of movies in containers of microscope programs: other packages read or write every plane, and all
pixels must be equal.
"""

import itertools
import json
import subprocess

import h5py
import nd2
import nd2_writer
import numpy as np
import pytest
import zarr


def counts(dtype, *shape, seed=1):
    """Counts that compress a little and use every byte."""
    out = np.random.default_rng(seed).poisson(300, shape) * 37
    return (out / 7 if dtype == "float32" else out % 251 if dtype == "uint8" else out).astype(dtype)


def test_real_nd2(dump, data):
    path = data / "cluster.nd2"
    if not path.is_file():
        pytest.skip(f"no {path}")
    with nd2.ND2File(path) as file:
        judged = file.asarray()  # T, Z, C, Y, X
        names = [channel.channel.name for channel in file.metadata.channels]
        size_nm = file.voxel_size().x * 1e3
    for (k, name), z in itertools.product(enumerate(names), range(judged.shape[1])):
        facts, found = dump(path, channel=name, z=z)
        assert facts["planes"] == f"z {z}, channel {k} ({name})"
        assert facts["pixel_size_nm"] == pytest.approx(size_nm) and facts["camera"] == "Nikon A1plus"
        assert facts["warnings"] == []
        np.testing.assert_array_equal(found, judged[:, z, k])


def test_real_nd2_needs_a_choice(program, data, tmp_path):
    path = data / "cluster.nd2"
    if not path.is_file():
        pytest.skip(f"no {path}")
    done = subprocess.run(
        [program, "localize", path, "--sigma", "130nm", "--offset", "0", "--gain", "1", "-o", tmp_path / "x.hdf5"],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "--z 0 to 9 and --channel 0 (5-FAM/pH 9.0) or 1 (FM 4-64/2% CHAPS)" in done.stderr


@pytest.mark.parametrize(
    "dtype,channels,compressed,padding",
    list(itertools.product(["uint8", "uint16", "float32"], [1, 3], [False, True], [0, 4])),
)
def test_nd2(dump, tmp_path, dtype, channels, compressed, padding):
    frames = counts(dtype, 7, channels, 19, 23)
    path = tmp_path / "movie.nd2"
    nd2_writer.write(
        path, frames, compressed=compressed, padding=padding, pixel_um=0.108, exposure_ms=20.0, camera="Prime"
    )
    with nd2.ND2File(path) as file:
        judged = file.asarray()
    np.testing.assert_array_equal(judged.reshape(frames.shape), frames, "the reference reads what was written")
    for channel in range(channels):
        facts, found = dump(path, channel=channel)
        np.testing.assert_array_equal(found, frames[:, channel])
        assert (facts["pixel_size_nm"], facts["exposure_ms"], facts["camera"]) == (pytest.approx(108), 20, "Prime")
        assert facts["warnings"] == []


@pytest.mark.parametrize("axes", ["TPZ", "PTZ", "TZ", "PT", "Z"])
@pytest.mark.parametrize("packed", [False, True])
def test_loops_of_nd2(dump, tmp_path, axes, packed):
    sizes = {"T": 3, "P": 2, "Z": 4}
    frames = counts("uint16", *(sizes[axis] for axis in axes), 2, 8, 9)
    path = tmp_path / "movie.nd2"
    nd2_writer.write(path, frames, axes=axes, names=["DAPI", "\u03b1-GFP"], packed_metadata=packed)
    with nd2.ND2File(path) as file:
        assert list(file.sizes)[: len(axes)] == list(axes)
        judged = file.asarray()
    for position, z in itertools.product(
        range(2 if "P" in axes else 1), range(4 if "T" in axes and "Z" in axes else 1)
    ):
        choice = ({"position": position} if "P" in axes else {}) | ({"z": z} if "Z" in axes and "T" in axes else {})
        index = [
            {"P": position, "Z": z}.get(axis, slice(None)) if axis != axes[-1] or "T" in axes else slice(None)
            for axis in axes
        ]
        index = [slice(None) if axis == "T" else one for axis, one in zip(axes, index)]
        np.testing.assert_array_equal(dump(path, channel="\u03b1-GFP", **choice)[1], judged[(*index, 1)])


def test_stopped_acquisition_of_nd2(dump, tmp_path):
    frames = counts("uint16", 10, 1, 8, 9)
    nd2_writer.write(tmp_path / "movie.nd2", frames, sequences=6)
    facts, found = dump(tmp_path / "movie.nd2")
    np.testing.assert_array_equal(found, frames[:6, 0])
    assert "frame 7 of 10 is not in the file" in facts["warnings"][0]
    nd2_writer.write(tmp_path / "open.nd2", frames, with_map=False)
    facts, found = dump(tmp_path / "open.nd2")
    np.testing.assert_array_equal(found, frames[:, 0])
    assert "has no map of its chunks" in facts["warnings"][0]


def characters(text):
    return np.array([c.encode("latin-1") for c in str(text)], dtype="S1")


def write_ims(path, frames, chunk=None, size_um=None, unit="um", names=None, **storage):
    """`frames`: (t, c, z, y, x), as Imaris lays them out: padded to whole chunks, texts as lists of characters."""
    times, channels, depth, height, width = frames.shape
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        image = file.create_group("DataSetInfo/Image")
        for name, value in [("X", width), ("Y", height), ("Z", depth), ("Unit", unit)]:
            image.attrs[name] = characters(value)
        for axis, count in enumerate([width, height]):
            image.attrs[f"ExtMin{axis}"] = characters("5.0")
            image.attrs[f"ExtMax{axis}"] = characters(5 + count * (size_um or 0))
        for c in range(channels):
            file.create_group(f"DataSetInfo/Channel {c}").attrs["Name"] = characters(names[c] if names else f"ch{c}")
        for t, c in itertools.product(range(times), range(channels)):
            group = file.create_group(f"DataSet/ResolutionLevel 0/TimePoint {t}/Channel {c}")
            for name, value in [("X", width), ("Y", height), ("Z", depth)]:
                group.attrs[f"ImageSize{name}"] = characters(value)
            stored = frames[t, c]
            if chunk:
                stored = np.pad(stored, [(0, -extent % edge) for extent, edge in zip(stored.shape, chunk)])
            group.create_dataset("Data", data=stored, chunks=chunk, **storage)
            file.create_group(f"DataSet/ResolutionLevel 1/TimePoint {t}/Channel {c}")["Data"] = stored[:, ::2, ::2]


STORAGE = {
    "plain": {},
    "chunks": {"chunk": (1, 8, 16)},
    "gzip": {"chunk": (2, 16, 8), "compression": "gzip"},
    "gzip, shuffle": {"chunk": (4, 8, 8), "compression": "gzip", "shuffle": True},
    "checksum": {"chunk": (1, 64, 64), "compression": "gzip", "shuffle": True, "fletcher32": True},
}


@pytest.mark.parametrize("dtype", ["uint8", "uint16", ">u2", "float32", "uint32"])
@pytest.mark.parametrize("storage", STORAGE)
def test_ims(dump, tmp_path, dtype, storage):
    frames = counts(dtype, 4, 2, 3, 19, 23)
    write_ims(tmp_path / "movie.ims", frames, size_um=0.108, names=["DAPI", "GFP"], **STORAGE[storage])
    for (channel, name), z in itertools.product(enumerate(["DAPI", "GFP"]), range(3)):
        facts, found = dump(tmp_path / "movie.ims", channel=name, z=z)
        assert facts["planes"] == f"channel {channel} ({name}), z {z}"
        assert facts["pixel_size_nm"] == pytest.approx(108) and facts["warnings"] == []
        np.testing.assert_array_equal(found, frames[:, channel, z])


def test_z_stack_of_ims(dump, tmp_path):
    frames = counts("uint16", 1, 1, 7, 9, 8)
    write_ims(tmp_path / "movie.ims", frames, chunk=(4, 8, 8), compression="gzip", size_um=0.1, unit="m")
    facts, found = dump(tmp_path / "movie.ims")
    assert facts["pixel_size_nm"] is None, "0.1 m is no pixel"
    np.testing.assert_array_equal(found, frames[0, 0])


def test_unwritten_chunks_of_ims(dump, tmp_path):
    write_ims(tmp_path / "movie.ims", np.zeros((3, 1, 1, 16, 16), "uint16"), chunk=(1, 8, 8), compression="gzip")
    with h5py.File(tmp_path / "movie.ims", "r+") as file:
        group = file["DataSet/ResolutionLevel 0/TimePoint 1/Channel 0"]
        del group["Data"]
        group.create_dataset("Data", (1, 16, 16), "uint16", chunks=(1, 8, 8), compression="gzip")[0, 8:, :8] = 7
        expected = group["Data"][0]
    np.testing.assert_array_equal(dump(tmp_path / "movie.ims")[1][1], expected)


def zarr_compressors(version):
    from numcodecs import LZ4, Blosc, GZip, Zlib, Zstd
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    if version == 2:
        shuffles = [(name, shuffle) for name in ("lz4", "zstd", "zlib", "lz4hc", "blosclz") for shuffle in (0, 1, 2)]
        return {
            "none": None,
            "zlib": Zlib(),
            "gzip": GZip(),
            "zstd": Zstd(),
            "lz4": LZ4(),
            **{f"blosc {name} {shuffle}": Blosc(name, 5, shuffle) for name, shuffle in shuffles},
        }
    shuffles = [
        (name, shuffle) for name in ("lz4", "zstd", "blosclz") for shuffle in ("noshuffle", "shuffle", "bitshuffle")
    ]
    return {
        "none": None,
        "gzip": GzipCodec(),
        "zstd": ZstdCodec(checksum=True),
        **{f"blosc {name} {shuffle}": BloscCodec(cname=name, shuffle=shuffle) for name, shuffle in shuffles},
    }


ZARR = [(version, name) for version in (2, 3) for name in zarr_compressors(version)]


@pytest.mark.parametrize("version,compressor", ZARR)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_zarr(dump, tmp_path, version, compressor, dtype):
    frames = counts("float32", 9, 70, 83).astype(dtype) if dtype == "float64" else counts(dtype, 9, 70, 83)
    array = zarr.create_array(
        tmp_path / "movie.zarr",
        shape=frames.shape,
        dtype=dtype,
        chunks=(4, 32, 64),
        zarr_format=version,
        compressors=zarr_compressors(version)[compressor],
        filters=None,
    )
    array[:] = frames
    facts, found = dump(tmp_path / "movie.zarr")
    assert facts["warnings"] == []
    np.testing.assert_array_equal(found, zarr.open_array(tmp_path / "movie.zarr")[:])
    np.testing.assert_array_equal(found, frames)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("order", ["big", "F", "separator"])
def test_layouts_of_zarr(dump, tmp_path, version, order):
    from zarr.codecs import BytesCodec, TransposeCodec

    frames = counts("uint16", 5, 20, 31)
    keywords = {
        "big": {"dtype": ">u2"} if version == 2 else {"dtype": "uint16", "serializer": BytesCodec(endian="big")},
        "F": {
            "dtype": "uint16",
            **({"order": "F"} if version == 2 else {"filters": [TransposeCodec(order=(2, 0, 1))]}),
        },
        "separator": {
            "dtype": "uint16",
            "chunk_key_encoding": {
                "name": "v2" if version == 2 else "default",
                "separator": "/" if version == 2 else ".",
            },
        },
    }[order]
    array = zarr.create_array(
        tmp_path / "movie.zarr", shape=frames.shape, chunks=(1, 8, 16), zarr_format=version, **keywords
    )
    array[:] = frames
    np.testing.assert_array_equal(dump(tmp_path / "movie.zarr")[1], frames)


def test_missing_chunks_of_zarr(dump, tmp_path):
    array = zarr.create_array(
        tmp_path / "movie.zarr", shape=(4, 16, 16), dtype="uint16", chunks=(1, 8, 8), fill_value=42
    )
    array[0] = 7
    array[2, 8:, :8] = 9
    facts, found = dump(tmp_path / "movie.zarr")
    assert facts["warnings"] == []
    np.testing.assert_array_equal(found, array[:])


@pytest.mark.parametrize("compressors", [None, "auto"])
@pytest.mark.parametrize("location", ["start", "end"])
def test_shards_of_zarr(dump, tmp_path, compressors, location):
    from zarr.codecs import BytesCodec, ShardingCodec, ZstdCodec

    frames = counts("uint16", 5, 20, 25)
    inner = [BytesCodec()] + ([ZstdCodec()] if compressors else [])
    array = zarr.create(
        shape=frames.shape,
        dtype="uint16",
        store=tmp_path / "movie.zarr",
        zarr_format=3,
        chunks=(2, 16, 32),
        fill_value=7,
        codecs=[ShardingCodec(chunk_shape=(1, 8, 16), codecs=inner, index_location=location)],
    )
    array[:] = frames
    array[3] = 7  # a frame of fill values, whose chunks are not stored
    frames[3] = 7
    np.testing.assert_array_equal(dump(tmp_path / "movie.zarr")[1], frames)
    whole = zarr.create_array(
        tmp_path / "auto.zarr", shape=frames.shape, dtype="uint16", chunks=(1, 10, 25), shards=(5, 20, 25)
    )
    whole[:] = frames
    np.testing.assert_array_equal(dump(tmp_path / "auto.zarr")[1], frames)


@pytest.mark.parametrize("names", [[None] * 3, ["T", "Y", "X"], ["Time", "Y", "X"]])
def test_names_of_dimensions_of_zarr(dump, tmp_path, names):
    frames = counts("uint16", 4, 20, 25)
    array = zarr.create_array(
        tmp_path / "movie.zarr", shape=frames.shape, dtype="uint16", chunks=(1, 20, 25), zarr_format=3
    )
    array[:] = frames
    text = json.loads((tmp_path / "movie.zarr/zarr.json").read_text())
    (tmp_path / "movie.zarr/zarr.json").write_text(json.dumps(text | {"dimension_names": names}))
    np.testing.assert_array_equal(dump(tmp_path / "movie.zarr")[1], frames)


def write_image(path, frames, version):
    group = zarr.open_group(path, mode="w", zarr_format=version)
    array = group.create_array("0", shape=frames.shape, chunks=(1, *frames.shape[1:]), dtype=frames.dtype)
    array[:] = frames
    axes = [{"name": name} for name in "tyx"]
    multiscales = [
        {
            "version": "0.4",
            "axes": axes,
            "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]}]}],
        }
    ]
    group.attrs.update(
        {"ome": {"version": "0.5", "multiscales": multiscales}} if version == 3 else {"multiscales": multiscales}
    )


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("images", [1, 3])
def test_images_within_zarr(dump, tmp_path, version, images):
    frames = counts("uint16", 4, 20, 25)
    layout = {"bioformats2raw.layout": 3}
    zarr.open_group(tmp_path / "raw.zarr", mode="w", zarr_format=version).attrs.update(
        {"ome": layout} if version == 3 else layout
    )
    (tmp_path / "raw.zarr/OME").mkdir()
    plate = {"plate": {"wells": [{"path": "B/3"}], "rows": [{"name": "B"}], "columns": [{"name": "3"}]}}
    zarr.open_group(tmp_path / "plate.zarr", mode="w", zarr_format=version).attrs.update(
        {"ome": plate} if version == 3 else plate
    )
    well = {"well": {"images": [{"path": str(k)} for k in range(images)]}}
    zarr.open_group(tmp_path / "plate.zarr/B/3", mode="w", zarr_format=version).attrs.update(
        {"ome": well} if version == 3 else well
    )
    for k in range(images):
        write_image(tmp_path / f"raw.zarr/{k}", frames + k, version)
        write_image(tmp_path / f"plate.zarr/B/3/{k}", frames + k, version)
    for k in range(images):
        choice = {"position": k} if images > 1 else {}
        for name in ("raw.zarr", "plate.zarr"):
            np.testing.assert_array_equal(dump(tmp_path / name, **choice)[1], frames + k)
    if images > 1:
        np.testing.assert_array_equal(dump(tmp_path / "plate.zarr", position="B/3/2")[1], frames + 2)
        with pytest.raises(AssertionError, match="3 positions.*choose by `position=0`"):
            dump(tmp_path / "raw.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_ome_zarr(dump, tmp_path, version):
    frames = counts("uint16", 3, 2, 4, 20, 31)
    axes = [
        {"name": "t", "type": "time"},
        {"name": "c", "type": "channel"},
        *({"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"),
    ]
    scale = [{"type": "scale", "scale": [1, 1, 0.5, 0.108, 0.108]}]
    ome = {
        "multiscales": [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}],
        "omero": {"channels": [{"label": "DAPI"}, {"label": "GFP"}]},
    }
    group = zarr.create_group(
        tmp_path / "movie.ome.zarr", zarr_format=version, attributes=ome if version == 2 else {"ome": ome}
    )
    group.create_array("0", shape=frames.shape, dtype="uint16", chunks=(1, 1, 2, 20, 31))[:] = frames
    facts, found = dump(tmp_path / "movie.ome.zarr", channel="GFP", z=3)
    assert facts["planes"] == "channel 1 (GFP), z 3" and facts["pixel_size_nm"] == pytest.approx(108)
    np.testing.assert_array_equal(found, frames[:, 1, 3])
