// Reads the molecule lists of Insight3 and older versions of storm-analysis (`_mlist.bin`): 18 numbers of 4 bytes
// per molecule.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "glint/error.hpp"
#include "io/bytes_reader.hpp"
#include "io/files/input_file.hpp"
#include "io/localization_formats.hpp"
#include "io/xml_text.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view insight3_version = "M425";
constexpr std::size_t insight3_header_bytes = 16, molecule_bytes = 4 * 18;

/// Some molecules of the file, each `molecule_bytes` long.
struct Molecules {
    /// In the order of the file.
    enum Word {
        x,
        y,
        xc,
        yc,
        height,
        area,
        width,
        phi,
        aspect,
        background,
        sum,
        category,
        fi,
        frame,
        length,
        link,
        z,
        zc
    };

    std::vector<std::byte> bytes;
    std::size_t count = 0;

    double real(std::size_t molecule, Word word) const { return read<float>(molecule, word); }
    double whole(std::size_t molecule, Word word) const { return read<std::int32_t>(molecule, word); }

  private:
    template <class T>
    double read(std::size_t molecule, Word word) const {
        const std::span<const std::byte> all(bytes);
        return double(BytesReader(all.subspan(molecule * molecule_bytes + 4 * std::size_t(word), 4)).number<T>());
    }
};

class Insight3Table : public TableFile {
  public:
    Insight3Table(const fs::path& from, double pixel_size_nm, const Warn& warn_of)
        : TableFile(from, warn_of), file_(from) {
        file_.expect_sequential_reads();
        first_frame = 1;
        tell_apart = {"category"};
        idle = {"category", "len", "link", "fi", "phi", "aspect_ratio"};
        rows = molecules_in_file();
        about.pixel_size_nm = pixel_size_nm;
        read_settings();
        pixel_nm_ = about.pixel_size_nm;
        add_columns();
        if (!warn) return;
        warn(fmt::format(
            "{}: its area and its background are in A/D counts, or in photoelectrons if the program knew the "
            "camera, which the file does not say: they are kept as columns area and background, and the "
            "table has no photons",
            path.string()));
        if (!(pixel_nm_ > 0))
            warn(
                fmt::format("{}: widths are in nm, and are left out since the pixel size is not known: give it, as in "
                            "`table_pixel_size=160nm`",
                            path.string()));
    }

    void restart() override { read_ = 0; }

    std::size_t add_rows(std::size_t most) override {
        const std::size_t count = std::min(most, *rows - read_);
        builder.resize(count);
        for (std::size_t done = 0; done < count;) {
            const Molecules some = molecules(read_ + done, count - done);
            for (const Column& column : columns_)
                builder.set_values(column.to, done, some.count,
                                   [&](std::size_t k) { return value_of(some, k, column); });
            for (std::size_t k = 0; k < some.count; ++k)
                correction_px_ =
                    std::max({correction_px_, std::abs(some.real(k, Molecules::xc) - some.real(k, Molecules::x)),
                              std::abs(some.real(k, Molecules::yc) - some.real(k, Molecules::y))});
            done += some.count;
        }
        read_ += count;
        if (count < most) tell_correction();
        return count;
    }

  private:
    enum class Kind { real, whole, sx, sy };
    struct Column {
        int to;
        Molecules::Word word;
        Kind kind;
    };

    std::size_t molecules_in_file() const {
        std::vector<std::byte> header(insight3_header_bytes);
        header.resize(file_.read_at(0, header.data(), header.size()));
        const auto refuse = [&](const std::string& what) { throw InputError(file_.name() + ": " + what); };
        if (header.size() < insight3_header_bytes)
            refuse(fmt::format("is cut off: it has {} bytes, an Insight3 list has at least {}", file_.size(),
                               insight3_header_bytes));
        BytesReader reader(header);
        reader.take(8);  // the version and the number of frames, which few programs write
        const auto status = reader.number<std::int32_t>(), count = reader.number<std::int32_t>();
        const std::uint64_t room = (file_.size() - insight3_header_bytes) / molecule_bytes;
        if (count < 0) refuse(fmt::format("is a damaged Insight3 list: it claims {} molecules; copy it again", count));
        if (status != 6)
            refuse(fmt::format(
                "is an Insight3 list that was not closed (status {}, not 6): let the program that writes it "
                "finish",
                status));
        if (std::uint64_t(count) > room)
            refuse(fmt::format("is cut off: its header claims {} molecules, the file has room for {}; copy it again",
                               count, room));
        return std::size_t(count);
    }

    /// storm-analysis writes its settings behind the molecules.
    void read_settings() {
        constexpr std::uint64_t longest = 1 << 20;
        const std::uint64_t begin = insight3_header_bytes + std::uint64_t(*rows) * molecule_bytes + 4;
        if (begin >= file_.size()) return;
        std::string text(std::size_t(std::min(file_.size() - begin, longest)), '\0');
        text.resize(file_.read_at(begin, reinterpret_cast<std::byte*>(text.data()), text.size()));
        if (!text.starts_with("<?xml")) return;  // Insight3 writes lists of frames there
        for_each_element(text, file_.name(), [&](const pugi::xml_node& element) {
            const std::string_view name = local_name(element), value = element.child_value();
            double number = 0;
            std::from_chars(value.data(), value.data() + value.size(), number);
            if (!(number > 0 && number <= 1e6)) return;
            if (name == "pixel_size" && is_within(element, "settings")) about.pixel_size_nm = number;
            if (name == "movie_x") about.width = int(number);
            if (name == "movie_y") about.height = int(number);
            if (name == "movie_l") about.frames = std::int64_t(number);
        });
    }

    void add(const std::string& name, Molecules::Word word, Kind kind, double scale = 1, double shift = 0) {
        const int to = builder.add_column(name, scale, shift);
        if (to < 0) return;
        columns_.push_back({to, word, kind});
        if (kind == Kind::whole) builder.set_integer(to);
    }

    void add_columns() {
        add("frame", Molecules::frame, Kind::whole);
        add("x", Molecules::xc, Kind::real, 1, -1);
        add("y", Molecules::yc, Kind::real, 1, -1);
        if (has_depths()) add("z", Molecules::zc, Kind::real);
        if (pixel_nm_ > 0) add("sx", Molecules::width, Kind::sx), add("sy", Molecules::width, Kind::sy);
        add("height", Molecules::height, Kind::real);
        add("area", Molecules::area, Kind::real);
        add("background", Molecules::background, Kind::real);
        add("phi", Molecules::phi, Kind::real);
        add("aspect_ratio", Molecules::aspect, Kind::real);
        add("sum", Molecules::sum, Kind::real);
        add("category", Molecules::category, Kind::whole);
        add("fi", Molecules::fi, Kind::whole);
        add("len", Molecules::length, Kind::whole);
        add("link", Molecules::link, Kind::whole);
    }

    /// `width` is twice the geometric mean of both standard deviations in nm, `aspect` the one along y divided by
    /// that along x.
    double value_of(const Molecules& from, std::size_t k, const Column& column) const {
        if (column.kind == Kind::real) return from.real(k, column.word);
        if (column.kind == Kind::whole) return from.whole(k, column.word);
        const double ratio = from.real(k, Molecules::aspect),
                     root = std::isfinite(ratio) && ratio > 0 ? std::sqrt(ratio) : 1;
        return 0.5 * from.real(k, Molecules::width) / pixel_nm_ * (column.kind == Kind::sx ? 1 / root : root);
    }

    Molecules molecules(std::size_t first, std::size_t most) const {
        constexpr std::size_t at_once = 1 << 16;
        Molecules some;
        some.count = std::min(most, at_once);
        some.bytes.resize(some.count * molecule_bytes);
        if (file_.read_at(insight3_header_bytes + std::uint64_t(first) * molecule_bytes, some.bytes.data(),
                          some.bytes.size()) != some.bytes.size())
            throw InputError(fmt::format("{}: was cut off while it was read", file_.name()));
        return some;
    }

    /// 2D lists are full of zeros.
    bool has_depths() const {
        for (std::size_t first = 0; first < *rows;) {
            const Molecules some = molecules(first, *rows - first);
            for (std::size_t k = 0; k < some.count; ++k)
                if (some.real(k, Molecules::zc) != 0) return true;
            first += some.count;
        }
        return false;
    }

    void tell_correction() {
        if (!(correction_px_ > 0) || told_ || !warn) return;
        told_ = true;
        warn(fmt::format(
            "{}: positions are the corrected ones of the file (xc, yc, zc), which differ by up to {:.2f} px from "
            "those that were measured",
            path.string(), correction_px_));
    }

    InputFile file_;
    double pixel_nm_ = 0, correction_px_ = 0;
    std::vector<Column> columns_;
    std::size_t read_ = 0;
    bool told_ = false;
};

bool is_insight3(const fs::path& path) { return begins_with(InputFile(path), insight3_version); }

OpenTable open_insight3(const fs::path& path, double pixel_size_nm, const Warn& warn) {
    return std::make_unique<Insight3Table>(path, pixel_size_nm, warn);
}

}  // namespace

TableFormat insight3_tables() {
    return {.name = "Insight3",
            .endings = {".bin"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_insight3(content.path); },
            .open = [](const fs::path& path, double pixel_size_nm, const Warn& warn,
                       const TextConventions&) { return open_insight3(path, pixel_size_nm, warn); }};
}

}  // namespace glint
