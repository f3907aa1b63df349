// Handles, and guards against hostile files.
// SPDX-License-Identifier: MIT
#include "io/hdf5/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/large_vector.hpp"
#include "glint/error.hpp"
#include "io/files/input_file.hpp"
#include "io/hdf5/guards.hpp"

namespace glint::hdf5 {
namespace {

namespace fs = std::filesystem;

/// Deflate, the strongest filter in use, shrinks data to 1/1032 at best. A larger claim cannot be real.
constexpr double largest_compression = 1100;
constexpr hsize_t largest_chunk_bytes = hsize_t(1) << 28;
constexpr std::size_t largest_string_bytes = std::size_t(15) << 20;

/// A file that could not be closed (disk full) stays in HDF5's tables with its memory freed, and HDF5's exit handler
/// crashes on it. Handles close everything in time, so that handler is not needed. Must precede other calls to HDF5.
[[maybe_unused]] const herr_t no_clean_up_at_exit = H5dont_atexit();

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
    throw InputError(fmt::format("{}: {}", path.string(), why));
}

/// Returns true if HDF5's last error was an unknown version of the format.
bool is_of_a_newer_library() {
    const auto look = [](unsigned, const H5E_error2_t* error, void* found) -> herr_t {
        if (error->desc && std::strstr(error->desc, "version")) *static_cast<bool*>(found) = true;
        return 0;
    };
    bool found = false;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &found);
    return found;
}

[[noreturn]] void refuse_newer(const fs::path& path, const std::string& what) {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    refuse(path, fmt::format("{} of a version that HDF5 {}.{}.{} does not know: a newer library wrote it with "
                             "libver='latest', or it is damaged. Write it with libver=('earliest', 'v110'), or "
                             "convert it by that library's h5repack --low=0 --high=2 OLD NEW",
                             what, major, minor, release));
}

void check_filters(hid_t properties, const char* name, const fs::path& path) {
    for (int k = 0; k < H5Pget_nfilters(properties); ++k) {
        char filter_name[64] = "";
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(properties, unsigned(k), &flags, &values, nullptr, sizeof filter_name, filter_name, &config);
        filter_name[sizeof filter_name - 1] = '\0';
        if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
        refuse(path,
               fmt::format("{} is compressed by {} (HDF5 filter {}), which this HDF5 library does not have: write it "
                           "again without, in Python with h5py, or by h5repack -f NONE OLD NEW where the filter is "
                           "installed",
                           name, *filter_name ? filter_name : "an unknown filter", int(filter)));
    }
}

[[noreturn]] void refuse_link(hid_t place, const char* name, const H5L_info_t& link) {
    std::string file(std::size_t(std::max<ssize_t>(H5Fget_name(place, nullptr, 0), 0)), '\0'), target;
    H5Fget_name(place, file.data(), file.size() + 1);
    constexpr std::size_t longest = 200;  // characters of a path in a message
    if (link.type == H5L_TYPE_SOFT && link.u.val_size <= longest) {
        target.resize(link.u.val_size);
        if (H5Lget_val(place, name, target.data(), target.size(), H5P_DEFAULT) < 0) target.clear();
        target.resize(std::min(target.find('\0'), target.size()));
    }
    refuse(file,
           fmt::format("{} is only a link{}, and links are not followed: store the data under that name, in h5py by "
                       "data = f[\"{}\"][()]; del f[\"{}\"]; f[\"{}\"] = data",
                       name, target.empty() ? "" : " to " + target, name, name, name));
}

void check_storage(hid_t dataset, const char* name, const fs::path& path) {
    const Handle properties(H5Dget_create_plist(dataset));
    check_filters(properties, name, path);
    const H5D_layout_t layout = H5Pget_layout(properties);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(properties) > 0)
        refuse(path, fmt::format("the data of {} lie in other files, which is not supported: copy them into one file "
                                 "(h5repack)",
                                 name));
    const Handle type(H5Dget_type(dataset));
    double claimed = double(H5Tget_size(type));
    for (hsize_t extent : shape_of(dataset)) claimed *= double(extent);
    const hsize_t stored = H5Dget_storage_size(dataset);
    const double available =
        double(std::min<hsize_t>(stored, fs::file_size(path))) * (layout == H5D_CHUNKED ? largest_compression : 1);
    const bool empty = claimed > 0 && stored == 0;
    if (claimed > available || empty)
        refuse(path, fmt::format("{} claims {:.0f} bytes, the file holds {}: it is damaged or truncated; copy or "
                                 "write it again",
                                 name, claimed, empty ? 0 : fs::file_size(path)));
    if (layout != H5D_CHUNKED) return;
    hsize_t chunk[H5S_MAX_RANK] = {};
    double bytes = double(H5Tget_size(type));
    const int rank = std::max(H5Pget_chunk(properties, H5S_MAX_RANK, chunk), 0);
    for (int k = 0; k < rank; ++k) bytes *= double(chunk[k]);
    if (bytes > double(largest_chunk_bytes))
        refuse(path, fmt::format("{} is stored in chunks of {:.0f} bytes, more than the limit of {}: rewrite it with "
                                 "smaller ones (h5repack)",
                                 name, bytes, largest_chunk_bytes));
    if (!first_chunk_is_whole(dataset, properties, std::uint64_t(bytes)))
        refuse(path,
               fmt::format("the chunks of {} are not as long as it says: the file is damaged; copy or write it again",
                           name));
}

template <class T>
std::vector<T> read_all(hid_t dataset, hid_t memory_type, const char* name, const fs::path& path) {
    const Quiet quiet;
    const Handle type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
    if (!is_numeric(type)) refuse(path, fmt::format("{} holds no numbers", name));
    std::vector<T> values;
    resize_large(values, std::size_t(std::max<hssize_t>(H5Sget_simple_extent_npoints(space), 0)));
    if (!values.empty() && H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
        refuse(path, fmt::format("{} cannot be read: the file is damaged; copy or write it again", name));
    return values;
}

/// Reads a text from a dataset or an attribute, which differ only in HDF5's calls.
template <class GetType, class GetSpace, class IsHonest, class Read>
std::optional<std::string> read_string(hid_t object, GetType get_type, GetSpace get_space, IsHonest is_honest,
                                       Read read) {
    const Handle type(get_type(object)), space(get_space(object));
    if (!type.valid() || !space.valid() || H5Tget_class(type) != H5T_STRING) return {};
    if (H5Sget_simple_extent_npoints(space) != 1) return {};
    if (H5Tis_variable_str(type) > 0) {
        if (!is_honest()) return {};
        char* text = nullptr;
        std::optional<std::string> out;
        if (read(object, type, &text) >= 0 && text) out = text;
        if (text) H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
        return out;
    }
    const std::size_t bytes = H5Tget_size(type);
    if (bytes == 0 || bytes > largest_string_bytes) return {};
    std::string out(bytes, '\0');
    if (read(object, type, out.data()) < 0) return {};
    out.resize(std::min(out.find('\0'), out.size()));
    return out;
}

}  // namespace

Quiet::Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

bool Handle::close() {
    if (id_ < 0) return true;
    const hid_t id = std::exchange(id_, -1);
    switch (H5Iget_type(id)) {
        case H5I_FILE: {
            const Quiet quiet;
            return H5Fclose(id) >= 0;
        }
        case H5I_GROUP: return H5Gclose(id) >= 0;
        case H5I_DATASET: return H5Dclose(id) >= 0;
        case H5I_DATATYPE: return H5Tclose(id) >= 0;
        case H5I_DATASPACE: return H5Sclose(id) >= 0;
        case H5I_ATTR: return H5Aclose(id) >= 0;
        case H5I_GENPROP_LST: return H5Pclose(id) >= 0;
        default: return H5Idec_ref(id) >= 0;
    }
}

Handle open_file(const fs::path& path) {
    const Quiet quiet;
    const htri_t known = H5Fis_hdf5(path.c_str());
    if (known < 0) InputFile{path};  // throws the system's error
    if (known < 0) refuse(path, "cannot be opened: does it exist, and may you read it?");
    if (known == 0) refuse(path, "is not an HDF5 file");
    Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, reading_access()));
    if (!file.valid() && is_of_a_newer_library()) refuse_newer(path, "is an HDF5 file");
    if (!file.valid())
        refuse(path, "is a damaged or truncated HDF5 file: is it still being copied or written? Copy it again");
    if (!has_sound_names(file, path))
        refuse(path, "is a damaged HDF5 file: names in it lie outside their place; copy it again");
    return file;
}

bool has(hid_t place, const char* name) {
    if (H5Lexists(place, name, H5P_DEFAULT) <= 0) return false;
    H5L_info_t link;
    if (H5Lget_info(place, name, &link, H5P_DEFAULT) < 0) return false;
    if (link.type != H5L_TYPE_HARD) refuse_link(place, name, link);
    return true;
}

std::vector<std::string> names_in(hid_t group) {
    std::vector<std::string> names;
    const auto add = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->push_back(name);
        return 0;
    };
    H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names);
    std::sort(names.begin(), names.end());
    return names;
}

Handle open_dataset(hid_t place, const char* name, const fs::path& path) {
    const Quiet quiet;
    if (!has(place, name)) refuse(path, fmt::format("has no dataset {}", name));
    const auto refuse_damaged = [&] {
        if (is_of_a_newer_library()) refuse_newer(path, fmt::format("{} is a dataset", name));
        refuse(path, fmt::format("the dataset {} is damaged", name));
    };
    H5O_info_t info;
    if (H5Oget_info_by_name(place, name, &info, H5P_DEFAULT) < 0) refuse_damaged();
    if (info.type != H5O_TYPE_DATASET) refuse(path, fmt::format("{} is not a dataset", name));
    Handle dataset(H5Dopen2(place, name, H5P_DEFAULT));
    if (!dataset.valid()) refuse_damaged();
    check_storage(dataset, name, path);
    return dataset;
}

std::vector<hsize_t> shape_of(hid_t dataset) {
    const Handle space(H5Dget_space(dataset));
    std::vector<hsize_t> shape(std::size_t(std::max(H5Sget_simple_extent_ndims(space), 0)));
    if (!shape.empty()) H5Sget_simple_extent_dims(space, shape.data(), nullptr);
    return shape;
}

// HDF5 1.10 does not check a damaged type and converts bits that do not exist.
bool is_numeric(hid_t type) {
    const std::size_t bits = 8 * H5Tget_size(type), precision = H5Tget_precision(type);
    const int offset = H5Tget_offset(type);
    const auto inside = [bits](std::size_t from, std::size_t count) { return count <= bits && from <= bits - count; };
    if (bits == 0 || bits > 128 || precision == 0 || offset < 0 || !inside(std::size_t(offset), precision))
        return false;
    const H5T_order_t order = H5Tget_order(type);
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return false;
    if (H5Tget_class(type) == H5T_INTEGER) return bits <= 64;
    std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
    if (H5Tget_class(type) != H5T_FLOAT) return false;
    if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0) return false;
    return inside(sign, 1) && inside(exponent, exponent_bits) && inside(mantissa, mantissa_bits) && exponent_bits > 0 &&
           exponent_bits < 32 && mantissa_bits > 0;
}

std::vector<double> read_doubles(hid_t dataset, const char* name, const fs::path& path) {
    return read_all<double>(dataset, H5T_NATIVE_DOUBLE, name, path);
}

std::vector<double> read_doubles(hid_t dataset, const char* name, const fs::path& path, hsize_t first, hsize_t count) {
    const Quiet quiet;
    std::vector<double> values(count);
    if (count == 0) return values;
    const Handle memory(H5Screate_simple(1, &count, nullptr)), space(H5Dget_space(dataset));
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr) < 0 ||
        H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) < 0)
        refuse(path, fmt::format("values {} to {} of {} cannot be read: the file is damaged; copy or write it again",
                                 first, first + count - 1, name));
    return values;
}

std::vector<float> read_floats(hid_t dataset, const char* name, const fs::path& path) {
    return read_all<float>(dataset, H5T_NATIVE_FLOAT, name, path);
}

std::optional<std::string> read_string_dataset(hid_t place, const char* name) {
    const Quiet quiet;
    H5O_info_t info;
    if (!has(place, name) || H5Oget_info_by_name(place, name, &info, H5P_DEFAULT) < 0) return {};
    if (info.type != H5O_TYPE_DATASET) return {};
    const Handle dataset(H5Dopen2(place, name, H5P_DEFAULT));
    if (!dataset.valid()) return {};
    const auto is_honest = [&] { return is_honest_text(dataset, nullptr); };
    return read_string(dataset, H5Dget_type, H5Dget_space, is_honest, [](hid_t object, hid_t type, void* out) {
        return H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    });
}

std::optional<std::string> read_string_attribute(hid_t place, const char* name) {
    const Quiet quiet;
    if (H5Aexists(place, name) <= 0) return {};
    const Handle attribute(H5Aopen(place, name, H5P_DEFAULT));
    if (!attribute.valid()) return {};
    const auto is_honest = [&] { return is_honest_text(place, name); };
    return read_string(attribute, H5Aget_type, H5Aget_space, is_honest,
                       [](hid_t object, hid_t type, void* out) { return H5Aread(object, type, out); });
}

std::optional<double> read_number_attribute(hid_t place, const char* name) {
    const Quiet quiet;
    if (H5Aexists(place, name) <= 0) return {};
    const Handle attribute(H5Aopen(place, name, H5P_DEFAULT));
    if (!attribute.valid()) return {};
    const Handle type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
    double value = 0;
    if (!type.valid() || !space.valid() || !is_numeric(type) || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0)
        return {};
    return value;
}

std::optional<std::string> read_characters_attribute(hid_t place, const char* name) {
    constexpr std::size_t most = 1 << 20;
    const Quiet quiet;
    if (H5Aexists(place, name) <= 0) return {};
    const Handle attribute(H5Aopen(place, name, H5P_DEFAULT));
    if (!attribute.valid()) return {};
    const Handle type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
    if (!type.valid() || !space.valid() || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) return {};
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const std::size_t bytes = H5Tget_size(type);
    if (count < 1 || bytes < 1 || bytes > most || std::size_t(count) > most / bytes) return {};
    std::string out(std::size_t(count) * bytes, '\0');
    if (H5Aread(attribute, type, out.data()) < 0) return {};
    out.resize(std::min(out.find('\0'), out.size()));
    return out;
}

}  // namespace glint::hdf5
