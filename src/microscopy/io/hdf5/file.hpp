// HDF5 handles that close themselves, and the checks that an untrusted file needs before it is read.
// SPDX-License-Identifier: MIT
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glint::hdf5 {

/// Silences HDF5's own messages to stderr on this thread while it lives.
class Quiet {
  public:
    Quiet();
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

  private:
    H5E_auto2_t print_ = nullptr;
    void* data_ = nullptr;
};

/// Owns one HDF5 identifier of any kind.
class Handle {
  public:
    Handle() = default;
    explicit Handle(hid_t id) : id_(id) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Handle() { close(); }
    operator hid_t() const { return id_; }
    bool valid() const { return id_ >= 0; }
    /// Closes the object. Returns false if the library could not flush its caches to the file.
    bool close();

  private:
    hid_t id_ = -1;
};

/// Opens a file for reading. Throws InputError if it does not exist, is not HDF5 or is truncated.
Handle open_file(const std::filesystem::path& path);

/// Returns true if `place` has an object of that name. Throws InputError if that is a soft or external link, which
/// might lead anywhere. Such a link is not followed, and must not be ignored either.
bool has(hid_t place, const char* name);

/// Names in a group, sorted.
std::vector<std::string> names_in(hid_t group);

/// Opens a dataset whose data lie in the file itself. `path` is for the message and the file's size. Throws
/// InputError if
/// - there is none,
/// - its data lie in other files,
/// - its data need a filter or a version of the format that the library does not have, or
/// - it claims more than the file can hold.
Handle open_dataset(hid_t place, const char* name, const std::filesystem::path& path);

/// Extent; empty for a scalar.
std::vector<hsize_t> shape_of(hid_t dataset);

/// Returns all values of a numeric dataset. Throws InputError if it contains no numbers or cannot be read.
std::vector<double> read_doubles(hid_t dataset, const char* name, const std::filesystem::path& path);
/// Returns `count` values of a 1-D dataset, from `first` on.
std::vector<double> read_doubles(hid_t dataset, const char* name, const std::filesystem::path& path, hsize_t first,
                                 hsize_t count);
std::vector<float> read_floats(hid_t dataset, const char* name, const std::filesystem::path& path);

/// Returns true if `type` is an integer or floating-point type whose bits all lie inside its bytes.
bool is_numeric(hid_t type);

/// Returns a scalar string dataset, or an attribute of `place`, of fixed or variable length, up to 15 MiB; nullopt if
/// there is none.
std::optional<std::string> read_string_dataset(hid_t place, const char* name);
std::optional<std::string> read_string_attribute(hid_t place, const char* name);

/// Returns a scalar attribute of `place`, or one of a single element; nullopt if there is none, or it is no number.
std::optional<double> read_number_attribute(hid_t place, const char* name);

/// Returns an attribute of up to 1 MiB: a list of characters, as Imaris writes texts, or a text of fixed length.
std::optional<std::string> read_characters_attribute(hid_t place, const char* name);

}  // namespace glint::hdf5
