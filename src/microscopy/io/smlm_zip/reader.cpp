// Reads .smlm files (version 0.2): a ZIP archive of manifest.json and binary tables of rows.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "glint/error.hpp"
#include "io/csv/columns.hpp"
#include "io/csv/lines.hpp"
#include "io/header_bytes.hpp"
#include "io/localization_formats.hpp"
#include "io/picasso/metadata.hpp"
#include "io/smlm_zip/manifest.hpp"
#include "io/smlm_zip/zip.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using SortedJson = nlohmann::json;

/// A number of a row. The format has these types, little-endian.
enum class StoredNumber { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };
struct NumberType {
    const char* name;
    StoredNumber number;
    std::size_t bytes;
};
constexpr NumberType number_types[] = {
    {"uint8", StoredNumber::u8, 1},    {"int8", StoredNumber::i8, 1},    {"uint16", StoredNumber::u16, 2},
    {"int16", StoredNumber::i16, 2},   {"uint32", StoredNumber::u32, 4}, {"int32", StoredNumber::i32, 4},
    {"uint64", StoredNumber::u64, 8},  {"int64", StoredNumber::i64, 8},  {"float32", StoredNumber::f32, 4},
    {"float64", StoredNumber::f64, 8},
};

double stored_number(std::string_view bytes, std::size_t at, StoredNumber number) {
    switch (number) {
        case StoredNumber::u8: return number_at<std::uint8_t>(bytes, at);
        case StoredNumber::i8: return number_at<std::int8_t>(bytes, at);
        case StoredNumber::u16: return number_at<std::uint16_t>(bytes, at);
        case StoredNumber::i16: return number_at<std::int16_t>(bytes, at);
        case StoredNumber::u32: return number_at<std::uint32_t>(bytes, at);
        case StoredNumber::i32: return number_at<std::int32_t>(bytes, at);
        case StoredNumber::u64: return double(number_at<std::uint64_t>(bytes, at));
        case StoredNumber::i64: return double(number_at<std::int64_t>(bytes, at));
        case StoredNumber::f32: return number_at<float>(bytes, at);
        case StoredNumber::f64: return number_at<double>(bytes, at);
    }
    return 0;
}

/// Returns a number, also if it is a text, as protobuf writes 64-bit numbers.
std::optional<double> number_in(const SortedJson& value) {
    if (value.is_number()) return value.get<double>();
    double number = 0;
    if (value.is_string() && parse_cell(value.get<std::string>(), number)) return number;
    return std::nullopt;
}

struct TableColumn {
    std::string header, unit;
    StoredNumber number = StoredNumber::f32;
    std::size_t at = 0;      ///< in the row
    bool is_single = false;  ///< one number in a row
    bool operator==(const TableColumn&) const = default;
};

/// One file of the archive with rows.
struct StoredTable {
    std::vector<TableColumn> columns;
    std::vector<double> offsets;
    std::size_t row_bytes = 0, rows = 0;
    std::unique_ptr<ZipStream> stream;
};

/// Reads the manifest's description of tables.
class ManifestReader {
  public:
    ManifestReader(const fs::path& path, const Warn& warn)
        : path_(path), warn_(warn), file_(std::make_shared<InputFile>(path)), entries_(zip_entries(*file_)) {
        constexpr std::size_t longest = std::size_t(16) << 20;
        const ZipEntry* entry = find(smlm_manifest_name);
        if (!entry)
            refuse(
                "is a ZIP archive without manifest.json, so it is no .smlm table: unpack it, and give the file in it");
        const std::string text = read_zip_entry(file_, *entry, longest);
        manifest_ = nests_deeply(text) ? SortedJson() : SortedJson::parse(text, nullptr, false);
        if (!manifest_.is_object()) refuse("has a manifest.json that is no JSON object, or nested too deeply");
        const std::string version = text_of(manifest_, "format_version");
        if (version != "0.2" && warn_)
            warn_(fmt::format("{}: has format version \"{}\", and is read as one of 0.2", path_.string(), version));
    }

    const SortedJson& manifest() const { return manifest_; }

    std::vector<StoredTable> tables() const {
        std::vector<StoredTable> tables;
        const SortedJson* files = list_of(manifest_, "files");
        constexpr std::size_t max_tables = 1000;
        if (!files || files->size() > max_tables)
            refuse(fmt::format("has a manifest.json without a list \"files\", or with more than {}", max_tables));
        for (const SortedJson& info : *files)
            if (info.is_object() && text_of(info, "type") == "table") tables.push_back(table_of(info));
        if (tables.empty()) refuse("has no table of localizations in it, according to its manifest.json");
        for (const StoredTable& table : tables)
            if (table.columns != tables.front().columns)
                refuse(
                    fmt::format("has {} tables with different columns: unpack it, and keep one in \"files\" of "
                                "manifest.json",
                                tables.size()));
        return tables;
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw InputError(fmt::format("{}: {}", path_.string(), why));
    }

    static bool nests_deeply(const std::string& text) {
        constexpr int max_depth = 64;
        int depth = 0;
        for (const char c : text) {
            if (c == '{' || c == '[') ++depth;
            if (c == '}' || c == ']') --depth;
            if (depth > max_depth) return true;
        }
        return false;
    }

    static std::string text_of(const SortedJson& object, const char* key) {
        const auto found = object.find(key);
        if (found == object.end()) return "";
        return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : "";
    }

    static const SortedJson* list_of(const SortedJson& object, const char* key) {
        const auto found = object.find(key);
        return found != object.end() && found->is_array() ? &*found : nullptr;
    }

    const ZipEntry* find(const std::string& name) const {
        for (const ZipEntry& entry : entries_)
            if (entry.name == name || entry.name == "./" + name) return &entry;
        return nullptr;
    }

    /// Returns the number of values per row in a column: a number, or a list of extents.
    static std::size_t numbers_in(const SortedJson& shape) {
        constexpr double max_numbers = 1 << 20;
        double numbers = 1;
        const auto multiply = [&](const SortedJson& extent) {
            const double value = number_in(extent).value_or(0);
            numbers *= value >= 1 && value <= max_numbers ? value : 0;
        };
        if (shape.is_array())
            for (const SortedJson& extent : shape) multiply(extent);
        else
            multiply(shape);
        return numbers <= max_numbers ? std::size_t(numbers) : 0;
    }

    void read_format(const SortedJson& format, const std::string& name, StoredTable& table) const {
        const SortedJson *headers = list_of(format, "headers"), *types = list_of(format, "dtype"),
                         *shapes = list_of(format, "shape"), *units = list_of(format, "units");
        constexpr std::size_t max_columns = 1000;
        if (text_of(format, "mode") != "binary")
            refuse(
                fmt::format("the table {} has the mode \"{}\", and only \"binary\" is read: unpack the archive, and "
                            "give the text file",
                            name, text_of(format, "mode")));
        if (!headers || !types || types->size() != headers->size() || headers->size() > max_columns ||
            (shapes && shapes->size() != headers->size()))
            refuse(
                fmt::format("the format of the table {} does not have one dtype and one shape for each of its headers "
                            "(at most {})",
                            name, max_columns));
        for (std::size_t k = 0; k < headers->size(); ++k) {
            const SortedJson &header = (*headers)[k], &dtype = (*types)[k];
            const auto type = std::find_if(
                std::begin(number_types), std::end(number_types),
                [&](const NumberType& one) { return dtype.is_string() && dtype.get<std::string>() == one.name; });
            const std::size_t numbers = shapes ? numbers_in((*shapes)[k]) : 1;
            if (!header.is_string() || type == std::end(number_types) || numbers == 0)
                refuse(fmt::format("column {} of the table {} has the dtype {} and a shape that are not understood",
                                   k + 1, name,
                                   dtype.dump(-1, ' ', true, SortedJson::error_handler_t::replace).substr(0, 40)));
            const bool has_unit = units && k < units->size() && (*units)[k].is_string();
            table.columns.push_back({header.get<std::string>(), has_unit ? (*units)[k].get<std::string>() : "",
                                     type->number, table.row_bytes, numbers == 1});
            table.row_bytes += numbers * type->bytes;
        }
    }

    StoredTable table_of(const SortedJson& info) const {
        StoredTable table;
        const std::string name = text_of(info, "name"), format_name = text_of(info, "format");
        const auto formats = manifest_.find("formats");
        const bool has_format = formats != manifest_.end() && formats->is_object() && formats->contains(format_name) &&
                                (*formats)[format_name].is_object();
        if (!has_format)
            refuse(fmt::format("the table {} has a format \"{}\" that is not described", name, format_name));
        read_format((*formats)[format_name], name, table);
        const ZipEntry* entry = find(name);
        if (!entry) refuse(fmt::format("the table {} is not in the archive", name));
        table.stream = std::make_unique<ZipStream>(file_, *entry);
        const auto rows = info.find("rows");
        const std::optional<double> stated =
            rows != info.end() ? number_in(*rows).value_or(NAN) : std::optional<double>();
        const std::uint64_t held = table.row_bytes > 0 ? entry->bytes / table.row_bytes : 0;
        if (table.row_bytes == 0 || entry->bytes % table.row_bytes != 0 || (stated && *stated != double(held)))
            refuse(fmt::format("the table {} should have {} rows of {} bytes, and has {} bytes: it is damaged", name,
                               stated.value_or(double(held)), table.row_bytes, entry->bytes));
        table.rows = std::size_t(held);
        const auto offset = info.find("offset");
        for (const TableColumn& column : table.columns) {
            const bool has_offset = offset != info.end() && offset->is_object() && offset->contains(column.header);
            table.offsets.push_back(has_offset ? number_in((*offset)[column.header]).value_or(0) : 0);
        }
        return table;
    }

    fs::path path_;
    Warn warn_;
    std::shared_ptr<const InputFile> file_;
    std::vector<ZipEntry> entries_;
    SortedJson manifest_;
};

class SmlmZipTable : public TableFile {
  public:
    SmlmZipTable(const fs::path& from, double pixel_size_nm, const Warn& warn_of, const TextConventions& text)
        : TableFile(from, warn_of) {
        ManifestReader reader(path, warn);
        tables_ = reader.tables();
        const auto own = own_facts(reader.manifest(), pixel_size_nm);
        if (!own) about.pixel_size_nm = pixel_size_nm;
        rows = 0;
        for (const StoredTable& table : tables_) *rows += table.rows;
        likely_rows = *rows;
        announce(understand(own.has_value(), text), own ? own->integers : std::set<std::string>());
        restart();
    }

    void restart() override {
        table_ = 0, read_ = 0;
        for (StoredTable& table : tables_) table.stream->restart();
    }

    std::size_t add_rows(std::size_t most) override {
        std::size_t added = 0;
        while (added < most && table_ < tables_.size()) {
            const std::size_t count = add_from(tables_[table_], most - added);
            added += count, read_ += count;
            if (read_ == tables_[table_].rows) ++table_, read_ = 0;
        }
        return added;
    }

  private:
    struct OwnFacts {
        std::set<std::string> integers;
    };

    /// Returns the facts that glint stores in its own files.
    std::optional<OwnFacts> own_facts(const SortedJson& manifest, double pixel_size_nm) {
        const auto found = manifest.find(smlm_own_key);
        if (found == manifest.end() || !found->is_object()) return std::nullopt;
        const auto number = [&](const char* key, double most) {
            const auto value = found->find(key);
            const double is = value != found->end() && value->is_number() ? value->get<double>() : 0;
            return is > 0 && is <= most ? is : 0.0;
        };
        about.width = int(number("Width", 1e6)), about.height = int(number("Height", 1e6));
        about.frames = std::int64_t(number("Frames", 4294967296.0));
        about.pixel_size_nm = number("Pixelsize", 1e6);
        if (about.pixel_size_nm == 0) about.pixel_size_nm = pixel_size_nm;
        if (const auto history = found->find("history"); history != found->end() && history->is_string())
            about.history = understood_steps(path.string() + ": the history in manifest.json",
                                             history->get<std::string>(), steps_from_json, warn);
        OwnFacts own;
        if (const auto integers = found->find("integers"); integers != found->end() && integers->is_array())
            for (const SortedJson& name : *integers)
                if (name.is_string()) own.integers.insert(name.get<std::string>());
        return own;
    }

    /// Reads files of other programs like a CSV with these headers and units. The format defines neither the origin of
    /// positions nor the number of the first frame.
    std::vector<CsvColumn> understand(bool is_own, const TextConventions& text) {
        first_frame = 1;
        is_text = true;  // so that the user can state what the file lacks
        if (is_own && text.columns.empty()) return own_columns();
        std::vector<std::string> headers;
        for (const TableColumn& column : tables_.front().columns) headers.push_back(text_header(column));
        const std::vector<std::string_view> cells(headers.begin(), headers.end());
        CsvHeader header = understand_header(cells, about.pixel_size_nm, path.string(), text.columns);
        is_first_frame_known = is_own || header.is_first_frame_known;
        first_frame = header.first_frame;
        origin = header.from_centre ? "centre" : "outer edge";
        tell_apart = header.tell_apart;
        if (header.needs_pixel_size) require_pixel_size();
        return std::move(header.columns);
    }

    void require_pixel_size() const {
        if (!(about.pixel_size_nm > 0))
            throw OptionError(
                fmt::format("{} does not say the size of a camera pixel, which its lengths need: give it, as in "
                            "`table_pixel_size=100nm`",
                            path.string()));
    }

    /// Returns a header such as "x [nm]": lengths are in nm unless the unit differs.
    static std::string text_header(const TableColumn& column) {
        std::string name = column.header;
        if (name.ends_with("_precision")) name[name.size() - std::string_view("_precision").size()] = ' ';
        const bool is_plain = column.unit.empty() || column.unit == "1" || column.unit == "frame" ||
                              column.unit == "unitless" || name.find_first_of("[(") != name.npos;
        return is_plain ? name : fmt::format("{} [{}]", name, column.unit);
    }

    std::vector<CsvColumn> own_columns() const {
        require_pixel_size();
        std::vector<CsvColumn> columns;
        for (const TableColumn& stored : tables_.front().columns) {
            CsvColumn column{stored.header, {stored.header}};
            if (const SmlmField* field = smlm_field(stored.header, &SmlmField::header)) {
                column.names = {std::string(field->name)};
                if (field->is_in_pixels) column.scale = 1 / about.pixel_size_nm;
                if (field->is_position) column.shift = -0.5;
            }
            columns.push_back(std::move(column));
        }
        return columns;
    }

    void announce(const std::vector<CsvColumn>& columns, const std::set<std::string>& integers) {
        std::vector<std::string> skipped;
        const std::vector<TableColumn>& stored = tables_.front().columns;
        for (std::size_t k = 0; k < stored.size(); ++k) {
            std::vector<int> targets;
            if (!stored[k].is_single) skipped.push_back(stored[k].header);
            for (const std::string& name : stored[k].is_single ? columns[k].names : std::vector<std::string>())
                if (const int column = builder.add_column(name, columns[k].scale, columns[k].shift); column >= 0) {
                    targets.push_back(column);
                    const bool is_real = stored[k].number == StoredNumber::f32 || stored[k].number == StoredNumber::f64;
                    if (!is_real || integers.contains(stored[k].header)) builder.set_integer(column);
                }
            targets_.push_back(std::move(targets));
        }
        if (tables_.size() > 1 && !builder.has("channel")) {
            channel_ = builder.add_column("channel");
            builder.set_integer(channel_);
            tell_apart.emplace_back("channel");
        }
        if (warn && !skipped.empty())
            warn(fmt::format("{}: columns with several numbers in a row are left out: {}", path.string(),
                             fmt::join(skipped, ", ")));
    }

    std::size_t add_from(StoredTable& table, std::size_t most) {
        constexpr std::size_t at_once = std::size_t(4) << 20;
        const std::size_t count =
            std::min({most, table.rows - read_, std::max<std::size_t>(1, at_once / table.row_bytes)});
        if (count == 0) return 0;
        bytes_.resize(count * table.row_bytes);
        if (table.stream->read({reinterpret_cast<std::byte*>(bytes_.data()), bytes_.size()}) != bytes_.size())
            throw InputError(fmt::format("{}: {} ends after {} of {} rows: the file is damaged; copy or write it again",
                                         path.string(), table.stream->entry().name, read_, table.rows));
        for (std::size_t k = 0; k < table.columns.size(); ++k)
            for (const int target : targets_[k])
                for (std::size_t row = 0; row < count; ++row)
                    builder.add_value(target, stored_number(bytes_, row * table.row_bytes + table.columns[k].at,
                                                            table.columns[k].number) +
                                                  table.offsets[k]);
        for (std::size_t row = 0; row < count && channel_ >= 0; ++row) builder.add_value(channel_, double(table_));
        return count;
    }

    std::vector<StoredTable> tables_;
    std::vector<std::vector<int>> targets_;  ///< numbers of the builder's columns, for each column
    std::string bytes_;
    int channel_ = -1;  ///< the builder's column for the table's number
    std::size_t table_ = 0, read_ = 0;
};

}  // namespace

bool is_smlm_zip(const fs::path& path) { return begins_like_zip(InputFile(path)); }

OpenTable open_smlm_zip(const fs::path& path, double pixel_size_nm, const Warn& warn, const TextConventions& text) {
    return std::make_unique<SmlmZipTable>(path, pixel_size_nm, warn, text);
}

TableFormat smlm_zip_tables() {
    return {.name = "smlm",
            .endings = {".smlm"},
            .is = [](const TableContent& content) { return content.hdf5 < 0 && is_smlm_zip(content.path); },
            .open = open_smlm_zip,
            .write = write_smlm_zip,
            .left_out = left_out_of_smlm_zip,
            .cannot_hold = "columns whose names have a meaning of their own there",
            .history = history_in<open_smlm_zip>};
}

}  // namespace glint
