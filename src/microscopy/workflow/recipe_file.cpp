// Reads and writes recipes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "glint/error.hpp"
#include "glint/filter.hpp"
#include "glint/units.hpp"
#include "glint/version.hpp"
#include "io/camera/toml_section.hpp"
#include "render/colormap.hpp"
#include "workflow/camera_setup.hpp"
#include "workflow/psf_setup.hpp"
#include "workflow/recipe.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;

struct Section {
    const char* name;
    const char* about;
};

/// In the order of the steps.
constexpr Section sections[] = {
    {"movie", "What is read as the movie"},
    {"camera", "Counts to photoelectrons"},
    {"psf", "The shape of a spot"},
    {"localize", "1. Movie to 1_localized.hdf5"},
    {"filter", "2. Localizations that are kept: 2_filtered.hdf5"},
    {"drift", "3. Drift of the sample: 3_drift.txt, 3_corrected.hdf5"},
    {"link", "4. Blinks to one row each: 4_linked.hdf5"},
    {"molecules", "5. Rows that are kept: 5_molecules.hdf5"},
    {"resolution", "6. What precision and resolution the data have: resolution.json"},
    {"render", "7. picture.png for the eye, picture.tif with the density, picture_before.png of 1_localized.hdf5"},
    {"figures", "8. Plots of drift, NeNA, FRC and what the rows say: figures/"},
};

/// Reads the values of one section.
class SectionReader {
  public:
    SectionReader(const toml::table& table, const fs::path& path, const std::vector<std::string_view>& known)
        : toml_(table, path, known) {}

    void take(const RecipeKey& key) {
        if (!toml_.has(key.name)) return;
        std::visit([&](auto* to) { read(key, *to); }, key.value);
    }

    void refuse(const char* key, const std::string& why) const { toml_.refuse(key, why); }

  private:
    void read(const RecipeKey& key, std::string& to) { to = *toml_.text(key.name); }
    void read(const RecipeKey& key, std::optional<std::string>& to) { to = toml_.text(key.name); }
    void read(const RecipeKey& key, bool& to) { to = *toml_.yes_or_no(key.name); }
    void read(const RecipeKey& key, double& to) { to = *toml_.number(key.name, key.low, key.high); }
    void read(const RecipeKey& key, std::int64_t& to) { to = whole(key); }
    void read(const RecipeKey& key, std::optional<std::int64_t>& to) { to = whole(key); }
    void read(const RecipeKey& key, std::vector<std::string>& to) { to = toml_.texts(key.name); }
    void read(const RecipeKey& key, std::optional<double>& to) {
        const bool may_be_auto = std::string_view(key.comment).find("\"auto\"") != std::string_view::npos;
        if (may_be_auto && toml_.is_text(key.name)) {
            if (toml_.text(key.name) != word_auto) toml_.refuse(key.name, "must be a number or \"auto\"");
            to = std::numeric_limits<double>::quiet_NaN();
        } else {
            to = toml_.number(key.name, key.low, key.high);
        }
    }

    std::int64_t whole(const RecipeKey& key) {
        const double value = *toml_.number(key.name, key.low, key.high);
        if (value != std::floor(value)) toml_.refuse(key.name, fmt::format("is {}: a whole number is wanted", value));
        return std::int64_t(value);
    }

    TomlSection toml_;
};

void take_from_folder(std::string& file, const fs::path& folder) {
    if (!file.empty() && fs::path(file).is_relative()) file = fs::absolute(folder / file).lexically_normal().string();
}

/// Rejects the key's value if `check` throws an OptionError.
template <class Check>
void require(const SectionReader& reader, const char* key, const Check& check) {
    try {
        check();
    } catch (const OptionError& error) {
        reader.refuse(key, fmt::format("is wrong: {}", error.what()));
    }
}

/// Checks conditions beyond those of a single key.
void check_section(const SectionReader& reader, std::string_view section, const Recipe& recipe) {
    if (section == "localize" && recipe.localize.emitters != "auto" && recipe.localize.emitters != "1")
        reader.refuse("emitters", "must be \"auto\" or \"1\"");
    if (section == "figures")
        for (const std::string& format : recipe.figures)
            if (format != "png" && format != "svg")
                reader.refuse("formats", fmt::format("has \"{}\": there are png and svg{}", format,
                                                     format == "pdf" ? "; print the .svg for a PDF" : ""));
    if (section == "render") {
        const Recipe::Render& render = recipe.render;
        require(reader, "colormap", [&] { render.colormap.empty() ? void() : void(Colormap(render.colormap)); });
        require(reader, "picture_pixel", [&] {
            render.picture_pixel.empty() ? void() : void(parse_length(render.picture_pixel, "picture_pixel"));
        });
        require(reader, "blur", [&] { render.blur.empty() ? void() : void(parse_length(render.blur, "blur")); });
    }
    const std::vector<std::string>* conditions = section == "filter"      ? &recipe.filter
                                                 : section == "molecules" ? &recipe.filter_molecules
                                                                          : nullptr;
    if (conditions && !conditions->empty()) require(reader, "where", [&] { check_conditions(*conditions); });
    if (section == "psf" && !recipe.psf.sigma.empty() && recipe.psf.sigma != word_auto)
        require(reader, "sigma", [&] { parse_length(recipe.psf.sigma, "sigma"); });
    if (section == "camera") require(reader, "pixel_size", [&] { pixel_size_nm(recipe.camera.pixel_size); });
}

Recipe recipe_of(const toml::table& table, const fs::path& path, std::vector<std::string>* keys = nullptr) {
    require_toml_kind(table, path, TomlKind::recipe);
    std::vector<std::string_view> names;
    for (const Section& section : sections) names.emplace_back(section.name);
    const TomlSection top(table, path, names);
    Recipe recipe;
    std::map<std::string_view, std::vector<std::string_view>> known;
    for (const RecipeKey& key : keys_of(recipe)) known[key.section].emplace_back(key.name);
    for (const Section& section : sections) {
        if (!top.has(section.name)) continue;
        const toml::table* part = table.get(section.name)->as_table();
        if (!part) top.refuse(section.name, fmt::format("is a section: [{}]", section.name));
        SectionReader reader(*part, path, known[section.name]);
        for (const RecipeKey& key : keys_of(recipe))
            if (key.section == std::string_view(section.name) && part->contains(key.name)) {
                reader.take(key);
                if (keys) keys->push_back(fmt::format("{}.{}", key.section, key.name));
            }
        check_section(reader, section.name, recipe);
    }
    return recipe;
}

}  // namespace

Recipe read_recipe(const fs::path& path) {
    Recipe recipe = recipe_of(parse_toml(path), path);
    take_from_folder(recipe.camera.camera_file, path.parent_path());
    take_from_folder(recipe.psf.calibration, path.parent_path());
    if (is_lens_file(recipe.psf)) take_from_folder(recipe.psf.model, path.parent_path());
    return recipe;
}

Recipe parse_recipe(std::string_view text, const std::string& name, std::vector<std::string>* keys) {
    return recipe_of(parse_toml(text, name), name, keys);
}

std::string recipe_text(const Recipe& recipe) {
    Recipe copy = recipe;
    const std::vector<RecipeKey> keys = keys_of(copy);
    std::string text = fmt::format(
        "# Recipe of `glint run` (glint {}). Change it and give the same command again: what depends on the change is "
        "done again.\n"
        "# A key behind a # is unset: glint chooses.\n",
        version());
    for (const Section& section : sections) {
        text += fmt::format("\n[{}]  # {}\n", section.name, section.about);
        for (const RecipeKey& key : keys) {
            if (key.section != std::string_view(section.name)) continue;
            std::string comment = key.comment;
            for (std::size_t at = 0; (at = comment.find('\n', at)) != comment.npos; ++at)
                comment.replace(at, 1, "\n# ");
            const std::string value = toml_value(key);
            text += fmt::format("# {}\n{}{} = {}\n", comment, value.empty() ? "# " : "", key.name,
                                value.empty() ? key.example : value);
        }
    }
    return text;
}

}  // namespace glint
