// Bindings of movies from files and arrays, of writing movies, and of ROI stacks; users see glint/movies.py.
// SPDX-License-Identifier: MIT
#include "objects.hpp"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "bindings.hpp"
#include "columns.hpp"
#include "data/camera_of_movie.hpp"
#include "glint/error.hpp"
#include "glint/movie_formats.hpp"
#include "glint/movie_io.hpp"
#include "glint/movie_region.hpp"
#include "io/files/check_outputs.hpp"
#include "running.hpp"
#include "text.hpp"

namespace glint::python {
namespace {

/// An array (frames, height, width).
using Frames = nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

PixelType type_of(const Frames& frames) {
    if (frames.dtype() == nb::dtype<std::uint8_t>()) return PixelType::uint8;
    if (frames.dtype() == nb::dtype<std::uint16_t>()) return PixelType::uint16;
    if (frames.dtype() == nb::dtype<float>()) return PixelType::float32;
    throw OptionError("frames are uint8, uint16 or float32");
}

MovieInfo info_of(const Frames& frames, std::string name) {
    MovieInfo info;
    info.name = std::move(name);
    if (frames.shape(1) > 65535 || frames.shape(2) > 65535)
        throw OptionError("frames have at most 65535 pixels along an edge");
    info.frames = std::int64_t(frames.shape(0));
    info.height = int(frames.shape(1)), info.width = int(frames.shape(2));
    info.type = type_of(frames);
    return info;
}

/// The Python object that a movie's frames come from, which the garbage collector must see: it may refer to the movie.
class PythonFrames {
  public:
    explicit PythonFrames(nb::object source) : source_(std::move(source)) {}
    PythonFrames(const PythonFrames&) = delete;
    virtual ~PythonFrames() {
        if (!source_.is_valid()) return;
        const nb::gil_scoped_acquire acquire;
        source_.reset();
    }
    const nb::object& source() const { return source_; }
    /// Drops the reference, if only the frames still refer to the movie.
    void clear() {
        is_cleared_ = true;
        source_.reset();
    }

  protected:
    void require_source(const std::string& name) const {
        if (is_cleared_) throw InputError(name + ": its array is gone");
    }

  private:
    nb::object source_;
    bool is_cleared_ = false;
};

/// A movie over an array without a copy: only the blocks in progress are copied. `source` keeps the array alive; if it
/// is empty, the caller does.
class ArrayMovie : public Movie, public PythonFrames {
  public:
    ArrayMovie(const Frames& frames, std::string name, nb::object source)
        : PythonFrames(std::move(source)),
          info_(info_of(frames, std::move(name))),
          begin_(static_cast<const std::byte*>(frames.data())) {}
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        require_source(info_.name);
        block.first_frame = first, block.count = count;
        block.width = info_.width, block.height = info_.height, block.type = info_.type;
        const std::size_t bytes = block.frame_bytes();
        block.bytes.resize(std::size_t(count) * bytes);
        if (!block.bytes.empty())
            std::memcpy(block.bytes.data(), begin_ + std::size_t(first) * bytes, block.bytes.size());
    }

  private:
    MovieInfo info_;
    const std::byte* begin_;
};

PixelType type_named(const std::string& name) {
    if (name == "uint8") return PixelType::uint8;
    if (name == "uint16") return PixelType::uint16;
    return PixelType::float32;
}

/// Frames from a Python function: fetch(first, count) -> array. Threads of glint call it, one at a time.
class FetchedMovie : public Movie, public PythonFrames {
  public:
    FetchedMovie(nb::object fetch, MovieInfo info) : PythonFrames(std::move(fetch)), info_(std::move(info)) {}
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t first, int count, FrameBlock& block) override {
        block.first_frame = first, block.count = count;
        block.width = info_.width, block.height = info_.height, block.type = info_.type;
        block.bytes.resize(std::size_t(count) * block.frame_bytes());
        read_to(first, count, block.bytes.data());
    }
    void read_to(std::int64_t first, int count, std::byte* out) override;

  private:
    MovieInfo info_;
};

void FetchedMovie::read_to(std::int64_t first, int count, std::byte* out) {
    const nb::gil_scoped_acquire acquire;
    require_source(info_.name);
    try {
        const auto frames = nb::cast<Frames>(source()(first, count), false);
        if (type_of(frames) != info_.type || frames.shape(0) != std::size_t(count) ||
            frames.shape(1) != std::size_t(info_.height) || frames.shape(2) != std::size_t(info_.width))
            throw InputError("they have another shape or type than the array says");
        std::memcpy(out, frames.data(), frames.nbytes());
    } catch (nb::python_error& error) {
        if (error.matches(PyExc_KeyboardInterrupt)) throw;
        const std::string why = error.what();
        throw InputError(fmt::format("{}: frames {} to {} cannot be read: {}", info_.name, first, first + count - 1,
                                     why.substr(why.rfind('\n') + 1)));
    } catch (const std::exception& error) {
        throw InputError(
            fmt::format("{}: frames {} to {} cannot be read: {}", info_.name, first, first + count - 1, error.what()));
    }
}

std::shared_ptr<SharedMovie> fetched(nb::object fetch, const std::string& name, std::int64_t frames,
                                     std::int64_t height, std::int64_t width, const std::string& type) {
    if (height < 1 || width < 1 || height > 65535 || width > 65535)
        throw OptionError(fmt::format("frames of {}x{}: they have 1 to 65535 pixels along an edge", width, height));
    MovieInfo info;
    info.name = name;
    info.frames = frames, info.height = int(height), info.width = int(width), info.type = type_named(type);
    auto shared = std::make_shared<SharedMovie>();
    shared->movie = std::make_unique<FetchedMovie>(std::move(fetch), std::move(info));
    return shared;
}

std::shared_ptr<SharedMovie> open(const std::vector<std::filesystem::path>& paths, std::optional<std::string> channel,
                                  std::optional<std::int64_t> z, std::optional<std::string> position) {
    Running running;
    auto opened = running.run([&] { return open_joined_movie(paths, {std::move(channel), z, std::move(position)}); });
    auto shared = std::make_shared<SharedMovie>();
    shared->movie = std::move(opened);
    return shared;
}

/// A view of another open movie, which it keeps open.
class OtherMovie : public Movie {
  public:
    explicit OtherMovie(std::shared_ptr<SharedMovie> other) : other_(std::move(other)) {}
    const MovieInfo& info() const override { return other_->movie->info(); }
    void read(std::int64_t first, int count, FrameBlock& block) override { other_->movie->read(first, count, block); }
    void read_to(std::int64_t first, int count, std::byte* out) override { other_->movie->read_to(first, count, out); }

  private:
    std::shared_ptr<SharedMovie> other_;
};

std::shared_ptr<SharedMovie> region_of_movie(std::shared_ptr<SharedMovie> whole, int x, int y, int width, int height) {
    auto shared = std::make_shared<SharedMovie>();
    shared->movie = crop_movie(std::make_unique<OtherMovie>(std::move(whole)), {x, y, width, height});
    return shared;
}

std::shared_ptr<SharedMovie> open_growing(const std::vector<std::filesystem::path>& paths, double wait_s) {
    Running running;
    auto opened = running.run([&] { return open_growing_movie(paths, {}, wait_s, running.stop()); });
    auto shared = std::make_shared<SharedMovie>();
    shared->movie = std::move(opened);
    return shared;
}

template <class T>
nb::object array_over(std::vector<std::byte>& bytes, const FrameBlock& block, nb::handle owner) {
    const std::size_t shape[] = {std::size_t(block.count), std::size_t(block.height), std::size_t(block.width)};
    return nb::cast(nb::ndarray<nb::numpy, T>(bytes.data(), 3, shape, owner));
}

nb::object read(SharedMovie& shared, std::int64_t first, std::int64_t count) {
    Running running;
    FrameBlock frames = running.run([&] {
        const std::lock_guard lock(shared.mutex);
        FrameBlock block;
        const MovieInfo& info = shared.movie->info();
        if (first < 0 || count < 0 || first + count > info.frames)
            throw OptionError("these frames are not in " + info.name);
        if (count > 0) shared.movie->read(first, int(std::min<std::int64_t>(count, 1 << 30)), block);
        block.count = int(count), block.width = info.width, block.height = info.height, block.type = info.type;
        block.bytes.resize(std::max<std::size_t>(1, std::size_t(count) * block.frame_bytes()));
        return block;
    });
    const auto [block, owner] = kept(std::move(frames));
    switch (block->type) {
        case PixelType::uint8: return array_over<std::uint8_t>(block->bytes, *block, owner);
        case PixelType::uint16: return array_over<std::uint16_t>(block->bytes, *block, owner);
        default: return array_over<float>(block->bytes, *block, owner);
    }
}

void write(const std::filesystem::path& path, const Frames& frames, std::optional<double> pixel_size_nm, bool overwrite,
           const std::vector<std::filesystem::path>& inputs) {
    const IfExists if_exists = overwrite ? IfExists::replace : IfExists::refuse;
    check_outputs({path}, if_exists, inputs);
    MovieInfo info = info_of(frames, path.filename().string());
    info.pixel_size_nm = pixel_size_nm;
    ArrayMovie movie(frames, info.name, {});
    Running running;
    running.run([&] {
        constexpr std::int64_t block_bytes = 16 << 20;
        const std::int64_t frame_bytes = info.frame_bytes();
        const std::int64_t step =
            std::clamp<std::int64_t>(block_bytes / std::max<std::int64_t>(1, frame_bytes), 1, 4096);
        TiffMovieWriter writer(path, info, if_exists);
        FrameBlock block;
        for (std::int64_t first = 0; first < info.frames; first += step) {
            if (*running.stop()) throw Cancelled("stopped: " + path.string() + " was not written");
            movie.read(first, int(std::min(step, info.frames - first)), block);
            writer.append(block);
        }
        writer.close();
        return true;
    });
}

/// Returns the pixels as in the file, as float32 (n, S, S), with corners and frames if the file has them.
nb::tuple read_stack(const std::filesystem::path& path) {
    Running running;
    const auto [rois, owner] = kept(running.run([&] { return read_rois(path, Camera{}); }));
    const std::size_t size = std::size_t(rois->size), shape[] = {rois->count(), size, size};
    Columns columns(owner);
    columns.add_if_known("x_corner", rois->x_corner);
    columns.add_if_known("y_corner", rois->y_corner);
    columns.add_if_known("frame", rois->frame);
    return nb::make_tuple(nb::ndarray<nb::numpy, float>(rois->pixels.data(), 3, shape, owner), columns.take());
}

PythonFrames* frames_of(PyObject* self) {
    if (!nb::inst_ready(self)) return nullptr;
    return dynamic_cast<PythonFrames*>(nb::inst_ptr<SharedMovie>(self)->movie.get());
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (const PythonFrames* frames = frames_of(self)) Py_VISIT(frames->source().ptr());
    return 0;
}

int clear(PyObject* self) {
    if (PythonFrames* frames = frames_of(self)) frames->clear();
    return 0;
}

PyType_Slot collected_by_garbage[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&clear)}, {0, nullptr}};

std::shared_ptr<SharedMovie> of_array(nb::object array, const std::string& name) {
    const auto frames = nb::cast<Frames>(array, false);
    auto shared = std::make_shared<SharedMovie>();
    shared->movie = std::make_unique<ArrayMovie>(frames, name, std::move(array));
    return shared;
}

template <class T>
auto fact(std::optional<T> MovieInfo::*member) {
    return [member](const SharedMovie& shared) { return shared.movie->info().*member; };
}

}  // namespace

void bind_movie(nb::module_& m) {
    nb::class_<SharedMovie>(m, "Movie", nb::type_slots(collected_by_garbage))
        .def_static("of_array", &of_array, "frames"_a, "name"_a)
        .def_static("open_growing", &open_growing, "paths"_a, "wait_s"_a)
        .def_static("fetched", &fetched, "fetch"_a, "name"_a, "frames"_a, "height"_a, "width"_a, "dtype"_a)
        .def_static("open", &open, "paths"_a, "channel"_a.none(), "z"_a.none(), "position"_a.none())
        .def_static("region", &region_of_movie, "whole"_a, "x"_a, "y"_a, "width"_a, "height"_a)
        .def("read", &read, "first"_a, "count"_a)
        .def_prop_ro("name", [](const SharedMovie& shared) { return shared.movie->info().name; })
        .def_prop_ro("shape",
                     [](const SharedMovie& shared) {
                         const MovieInfo& info = shared.movie->info();
                         return nb::make_tuple(info.frames, info.height, info.width);
                     })
        .def_prop_ro("dtype",
                     [](const SharedMovie& shared) {
                         const PixelType type = shared.movie->info().type;
                         return type == PixelType::uint8 ? "uint8" : type == PixelType::uint16 ? "uint16" : "float32";
                     })
        .def_prop_ro("files", [](const SharedMovie& shared) { return shared.movie->info().files; })
        .def_prop_ro("pixel_size_nm", fact(&MovieInfo::pixel_size_nm))
        .def_prop_ro("offset", fact(&MovieInfo::offset_adu))
        .def_prop_ro("gain", fact(&MovieInfo::gain_e_per_adu))
        .def_prop_ro("em_gain", fact(&MovieInfo::em_gain))
        .def_prop_ro("contradictions", [](const SharedMovie& shared) { return shared.movie->info().contradictions; })
        .def_prop_ro("exposure_ms", fact(&MovieInfo::exposure_ms))
        .def_prop_ro("camera", [](const SharedMovie& shared) { return shared.movie->info().camera; })
        .def_prop_ro("planes", [](const SharedMovie& shared) { return shared.movie->info().planes; })
        .def_prop_ro("warnings", [](const SharedMovie& shared) { return in_python(shared.movie->info().warnings); });
    m.def("write_movie", &write, "path"_a, "frames"_a.noconvert(), "pixel_size_nm"_a.none(), "overwrite"_a, "inputs"_a);
    m.def("read_rois", &read_stack, "path"_a);
    m.def("movie_endings", &movie_endings);
    m.def(
        "require_known_corner",
        [](const Camera& camera, const SharedMovie& shared) { require_known_corner(camera, shared.movie->info()); },
        "camera"_a, "movie"_a);
    m.def("require_known_corner_of_rois", &require_known_corner_of_rois, "camera"_a, "width"_a, "height"_a, "name"_a);
    m.def(
        "pixel_size_contradiction",
        [](const SharedMovie& shared, double pixel_size_nm) {
            return in_python(pixel_size_contradiction(shared.movie->info(), pixel_size_nm));
        },
        "movie"_a, "pixel_size_nm"_a);
}

}  // namespace glint::python
