// Reads tagged spot files (.tsf) of Micro-Manager and other programs: messages in the wire format of Protocol Buffers,
// one per spot.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "glint/error.hpp"
#include "io/byte_order.hpp"
#include "io/files/input_file.hpp"
#include "io/localization_formats.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t tsf_header_bytes = 12, largest_message = 1 << 20;

/// Numbers of a message, by the number of their field. Texts and nested messages are skipped.
using MessageFields = std::map<std::uint64_t, double>;

/// Reads the bytes of a file in order, one piece at a time.
class MessageReader {
  public:
    explicit MessageReader(const InputFile& file) : file_(file) {}

    std::uint64_t at() const { return begin_ + at_; }
    void go_to(std::uint64_t at) { begin_ = at, at_ = 0, bytes_.clear(); }

    /// Reads the message that begins here, after its length. Returns false if it does not end before `end`, or is
    /// damaged.
    bool read(std::uint64_t end, MessageFields& fields) {
        std::uint64_t length = 0;
        fields.clear();
        if (!varint(end, length) || length > std::min(largest_message, end - std::min(end, at()))) return false;
        const std::uint64_t last = at() + length;
        while (at() < last)
            if (!field(last, fields)) return false;
        return true;
    }

  private:
    bool field(std::uint64_t end, MessageFields& fields) {
        std::uint64_t key = 0, whole = 0;
        if (!varint(end, key)) return false;
        switch (key & 7) {
            case 0:
                if (!varint(end, whole)) return false;
                fields[key >> 3] = double(std::int64_t(whole));
                return true;
            case 1: return real<double>(end, fields[key >> 3]);
            case 5: return real<float>(end, fields[key >> 3]);
            case 2: {
                std::byte ignored;
                if (!varint(end, whole) || whole > end - at()) return false;
                for (; whole > 0; --whole)
                    if (!byte(end, ignored)) return false;
                return true;
            }
            default: return false;
        }
    }

    bool byte(std::uint64_t end, std::byte& value) {
        constexpr std::size_t at_once = 1 << 20;
        if (at() >= end) return false;
        if (at_ == bytes_.size()) {
            begin_ += bytes_.size(), at_ = 0;
            bytes_.resize(std::size_t(std::min<std::uint64_t>(at_once, file_.size() - std::min(file_.size(), begin_))));
            bytes_.resize(file_.read_at(begin_, bytes_.data(), bytes_.size()));
            if (bytes_.empty()) return false;
        }
        value = bytes_[at_++];
        return true;
    }

    bool varint(std::uint64_t end, std::uint64_t& value) {
        value = 0;
        std::byte one{};
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (!byte(end, one)) return false;
            value |= (std::uint64_t(one) & 127) << shift;
            if ((std::uint64_t(one) & 128) == 0) return true;
        }
        return false;
    }

    template <class T>
    bool real(std::uint64_t end, double& value) {
        std::byte raw[sizeof(T)];
        for (std::byte& one : raw)
            if (!byte(end, one)) return false;
        if (!host_is_little_endian) swap_bytes(raw, sizeof(T), sizeof(T));
        T number;
        std::memcpy(&number, raw, sizeof(T));
        value = double(number);
        return true;
    }

    const InputFile& file_;
    std::uint64_t begin_ = 0;  ///< of the piece in the file
    std::size_t at_ = 0;       ///< in the piece
    std::vector<std::byte> bytes_;
};

/// Returns the position at which the list of spots ends and the message about all of them begins; 0 if the file is no
/// tagged spot file.
std::uint64_t end_of_spots(const InputFile& file) {
    std::byte raw[tsf_header_bytes];
    if (file.read_at(0, raw, sizeof raw) != sizeof raw) return 0;
    std::uint64_t magic = 0, offset = 0;
    for (std::size_t k = 0; k < 4; ++k) magic = magic << 8 | std::uint64_t(raw[k]);
    for (std::size_t k = 4; k < sizeof raw; ++k) offset = offset << 8 | std::uint64_t(raw[k]);
    if (magic != 0 || offset == 0 || offset >= file.size() - tsf_header_bytes) return 0;
    return offset + tsf_header_bytes;
}

constexpr std::uint64_t spot_location_units = 17, spot_intensity_units = 18, list_location_units = 22,
                        list_intensity_units = 23;

struct SpotField {
    std::uint64_t number;
    const char* name;
    enum Kind { plain, whole, position, length, depth } kind;
};
constexpr SpotField spot_fields[] = {
    {3, "frame", SpotField::whole},    {7, "x", SpotField::position},
    {8, "y", SpotField::position},     {9, "z", SpotField::depth},
    {104, "lpx", SpotField::length},   {105, "lpy", SpotField::length},
    {106, "lpz", SpotField::depth},    {11, "background", SpotField::plain},
    {12, "width", SpotField::plain},   {13, "aspect_ratio", SpotField::plain},
    {14, "theta", SpotField::plain},   {1, "molecule", SpotField::whole},
    {2, "channel", SpotField::whole},  {4, "slice", SpotField::whole},
    {5, "pos", SpotField::whole},      {19, "fluorophore_type", SpotField::whole},
    {20, "cluster", SpotField::whole},
};

class TsfTable : public TableFile {
  public:
    TsfTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of)
        : TableFile(from, warn_of), file_(from), reader_(file_), end_(end_of_spots(file_)) {
        first_frame = 1;
        tell_apart = {"channel", "slice", "pos", "fluorophore_type"};
        idle = {"channel", "slice", "pos", "fluorophore_type", "cluster", "molecule", "theta"};
        MessageFields list, spot;
        reader_.go_to(end_);
        if (!reader_.read(file_.size(), list))
            throw InputError(
                fmt::format("{}: is a damaged or truncated tagged spot file: the description of its spots "
                            "(at byte {}) does not end in it; copy it again",
                            file_.name(), end_));
        const auto size = [&](std::uint64_t field, double largest) {
            const auto found = list.find(field);
            return found != list.end() && found->second >= 1 && found->second <= largest ? found->second : 0;
        };
        about.width = int(size(5, 1e6)), about.height = int(size(6, 1e6));
        about.frames = std::int64_t(size(19, 4294967295.0));
        about.pixel_size_nm = size(7, 1e6) > 0 ? size(7, 1e6) : pixel_size_nm;
        restart();
        if (end_ > tsf_header_bytes && !reader_.read(end_, spot)) throw_damaged(1);
        for (const auto& [of_spot, of_list] : {std::pair(spot_location_units, list_location_units),
                                               std::pair(spot_intensity_units, list_intensity_units)})
            if (!spot.contains(of_spot) && list.contains(of_list)) spot[of_spot] = list[of_list];
        add_columns(spot);
        restart();
        if (!warn) return;
        warn(
            fmt::format("{}: the format does not say where positions are measured from: taken as the first pixel's "
                        "centre, as Micro-Manager does",
                        path.string()));
    }

    void restart() override { reader_.go_to(tsf_header_bytes), read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        MessageFields spot;
        std::size_t added = 0;
        for (; added < most && reader_.at() < end_; ++added) {
            ++read_;
            if (!reader_.read(end_, spot)) throw_damaged(read_);
            require_units(spot);
            for (const auto& [field, column] : columns_) {
                const auto value = spot.find(field);
                builder.add_value(column,
                                  value != spot.end() ? value->second : std::numeric_limits<double>::quiet_NaN());
            }
        }
        return added;
    }

  private:
    [[noreturn]] void throw_damaged(std::size_t spot) const {
        throw InputError(
            fmt::format("{}: is a damaged tagged spot file: its spot {} is no message that ends before byte "
                        "{}; copy it again",
                        file_.name(), spot, end_));
    }

    /// Returns the nanometres in one unit of location.
    double nm_of(double unit) const {
        if (unit == 0) return 1;
        if (unit == 1) return 1000;
        if (unit == 2) return about.pixel_size_nm;
        throw InputError(
            fmt::format("{}: the unit of its positions is not understood ({}): neither 0 (nm) nor 1 (um) nor 2 "
                        "(px)",
                        file_.name(), unit));
    }

    void add_columns(const MessageFields& first) {
        const auto location = first.find(spot_location_units), intensity = first.find(spot_intensity_units);
        if (location == first.end())
            throw InputError(
                fmt::format("{}: does not say in which unit its positions are (location_units)", file_.name()));
        location_ = location->second;
        const double nm = nm_of(location_);
        if (location_ != 2 && !(about.pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} does not state the size of a camera pixel, which its lengths need: give it, "
                            "as in `table_pixel_size=100nm`",
                            path.string()));
        const double px = location_ == 2 ? 1 : nm / about.pixel_size_nm;
        for (const SpotField& field : spot_fields) {
            const bool is_depth = field.kind == SpotField::depth;
            if (!first.contains(field.number) && field.kind != SpotField::position && field.number != 3) continue;
            if (is_depth && !has_values(field.number)) continue;
            const bool is_length = field.kind == SpotField::position || field.kind == SpotField::length;
            add(field.number, field.name, is_depth ? nm : is_length ? px : 1, field.kind == SpotField::whole);
        }
        intensity_ = intensity == first.end() ? 0 : intensity->second;
        const bool is_photons = intensity_ == 1;
        if (first.contains(10)) add(10, is_photons ? "photons" : "intensity_counts", 1, false);
        if (!is_photons && warn)
            warn(fmt::format("{}: intensities are in counts, not in photons: they are kept as column intensity_counts",
                             path.string()));
    }

    void add(std::uint64_t field, const char* name, double scale, bool is_whole) {
        const int column = builder.add_column(name, scale);
        if (column < 0) return;
        columns_.emplace_back(field, column);
        if (is_whole) builder.set_integer(column);
    }

    /// Returns true if a value of the field is not 0; 2D files may have depths that are all 0. Reads spots up to the
    /// first such value.
    bool has_values(std::uint64_t field) {
        restart();
        MessageFields spot;
        for (std::size_t k = 1; reader_.at() < end_; ++k) {
            if (!reader_.read(end_, spot)) throw_damaged(k);
            if (const auto value = spot.find(field); value != spot.end() && value->second != 0) return true;
        }
        return false;
    }

    /// Throws InputError if a spot has other units than the first. The format allows it, but no known program does so.
    void require_units(const MessageFields& spot) const {
        for (const auto& [field, unit] :
             {std::pair(spot_location_units, location_), std::pair(spot_intensity_units, intensity_)})
            if (const auto own = spot.find(field); own != spot.end() && own->second != unit)
                throw InputError(fmt::format(
                    "{}: spot {} has another unit than the first one, which glint does not read", file_.name(), read_));
    }

    InputFile file_;
    MessageReader reader_;
    std::uint64_t end_;
    double location_ = 0, intensity_ = 0;
    std::vector<std::pair<std::uint64_t, int>> columns_;  ///< field, column
    std::size_t read_ = 0;
};

bool is_tsf(const fs::path& path) {
    const InputFile file(path);
    const std::uint64_t end = end_of_spots(file);
    MessageReader reader(file);
    MessageFields list;
    reader.go_to(end);
    return end > 0 && reader.read(file.size(), list) && reader.at() == file.size() && list.contains(1);
}

OpenTable open_tsf(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<TsfTable>(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat tsf_tables() {
    return {.name = "TSF",
            .endings = {".tsf"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_tsf(content.path); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_tsf(path, pixel_size_nm, warn); }};
}

}  // namespace glint
