// The picture of a measured PSF: its sections, the errors of the fits that tested it, and sections of
// beads beside those of the PSF.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/micrometres.hpp"
#include "cli/commands/calibrate_psf.hpp"
#include "psf/in_double.hpp"

namespace glint::cli {
namespace {

constexpr std::size_t figure_planes = 5, max_side_rows = 61;  // along z
constexpr std::size_t max_figure_beads = 6;
constexpr double residual_range = 5;  // of noise alone, 0.6 pixels of a million lie beyond
// Layout, px of the picture from its top left corner.
constexpr double figure_width = 1500, psf_left = 75, psf_top = 45, psf_size = 150, psf_step = 204;
constexpr double errors_left = 75, errors_top = 325, errors_height = 160, errors_width = 380, errors_step = 490;
constexpr double beads_left = 175, beads_top = 620, bead_size = 118, bead_step = 132, image_step = 124;
constexpr double group_step = 440, side_step = 12;

class PsfFigure {
  public:
    explicit PsfFigure(const PsfCalibration& c) : c_(c), px_nm_(c.table->scale().pixel_size_nm) {
        for (const PsfBead& bead : c.beads)
            if (bead.sections.size > 0) beads_.push_back(&bead);
        std::stable_sort(beads_.begin(), beads_.end(),
                         [](const PsfBead* a, const PsfBead* b) { return a->misfit > b->misfit; });
        used_ = beads_.size();
        beads_.resize(std::min(used_, max_figure_beads));
        figure_.width = figure_width;
        figure_.height = beads_top + bead_step * double(beads_.size()) + 50;
    }

    plots::Figure make() {
        draw_psf();
        if (!beads_.empty()) draw_beads();
        draw_errors();
        return std::move(figure_);
    }

  private:
    void place(plots::Panel panel, double left, double top, double edge) {
        figure_.panels.push_back({std::move(panel), {left, top, edge, edge}});
    }
    static plots::Panel image_panel(plots::Heat heat, const std::string& x, const std::string& y) {
        plots::Panel panel;
        panel.x.label = x, panel.y.label = y;
        panel.heats.push_back(std::move(heat));
        return panel;
    }

    /// An image of rows along y or z, coloured from 0 to the brightest value of itself or of another image.
    plots::Heat light_of(std::vector<double> values, std::size_t columns, double y_low, double y_high,
                         const std::vector<double>& scale) const {
        const double half = 0.5 * double(columns) * px_nm_, brightest = *std::max_element(scale.begin(), scale.end());
        plots::Heat heat{std::move(values), columns, -half, half, y_low, y_high};
        heat.low = brightest > 0 ? 0 : brightest - 1, heat.high = brightest;
        return heat;
    }

    /// The PSF at a z, in the pixels of the window around its middle.
    std::vector<double> image_at(const PsfInDouble& psf, double z_nm) const {
        const int size = c_.roi_size;
        std::vector<double> image(std::size_t(size) * std::size_t(size), 0.0);
        const double theta[] = {0.5 * (size - 1), 0.5 * (size - 1), 1, 0, nm_to_um(z_nm)};
        psf.add_photons(theta, 0, 0, size, size, image.data());
        return image;
    }

    /// For titles: which PSF of a field is drawn.
    const char* describe_psf() const { return c_.table->field().cells() == 1 ? "PSF, " : "middle PSF, "; }
    /// What was found about the field, for the title of the last panel.
    std::string describe_gain() const {
        if (!c_.field) return "";
        if (c_.field->degree == 0) return "; one PSF for the field";
        const PsfField& field = c_.table->field();
        return fmt::format("; {} x {} PSFs (with one: {:.0f} %)", field.cells_x, field.cells_y,
                           100 * c_.field->good_p_of_one);
    }

    void draw_psf() {
        Psf model;
        model.model = PsfModel::SplineXYZNB, model.table = c_.table->one_cell(c_.table->middle_cell());
        const PsfInDouble psf(model, px_nm_);
        const auto size = std::size_t(c_.roi_size);
        const double depth = c_.z_max_nm - c_.z_min_nm, half = 0.5 * double(size) * px_nm_;
        for (std::size_t k = 0; k < figure_planes; ++k) {
            const double z_nm = c_.z_min_nm + depth * double(k) / double(figure_planes - 1);
            const std::vector<double> image = image_at(psf, z_nm);
            plots::Panel panel =
                image_panel(light_of(image, size, -half, half, image), "x (nm)", k == 0 ? "y (nm)" : "");
            panel.title = fmt::format("{}z = {:.0f} nm", k == 0 ? describe_psf() : "", z_nm);
            place(std::move(panel), psf_left + psf_step * double(k), psf_top, psf_size);
        }
        const double step_nm = depth / double(max_side_rows - 1);
        std::vector<double> xz, yz;
        for (std::size_t row = 0; row < max_side_rows; ++row) {
            const std::vector<double> image = image_at(psf, c_.z_min_nm + step_nm * double(row));
            for (std::size_t i = 0; i < size; ++i)
                xz.push_back(image[size / 2 * size + i]), yz.push_back(image[i * size + size / 2]);
        }
        const double low = c_.z_min_nm - 0.5 * step_nm, high = c_.z_max_nm + 0.5 * step_nm;
        plots::Panel side = image_panel(light_of(xz, size, low, high, xz), "x (nm)", "z (nm)");
        side.title = "PSF, xz";
        place(std::move(side), psf_left + psf_step * double(figure_planes) + side_step, psf_top, psf_size);
        side = image_panel(light_of(yz, size, low, high, yz), "y (nm)", "");
        side.title = "PSF, yz";
        place(std::move(side), psf_left + psf_step * double(figure_planes + 1) + side_step, psf_top, psf_size);
    }

    /// Images of a section, and the range of their rows.
    struct Section {
        std::vector<double> data, model, residual;
        double low_nm = 0, high_nm = 0;
    };

    Section xy_section(const PsfBeadSections& bead) const {
        const std::size_t pixels = std::size_t(bead.size) * std::size_t(bead.size);
        const auto image = [&](std::size_t kind) {
            const auto first = bead.xy.begin() + std::ptrdiff_t(kind * pixels);
            return std::vector<double>(first, first + std::ptrdiff_t(pixels));
        };
        const double half = 0.5 * bead.size * px_nm_;
        return {image(0), image(1), image(2), -half, half};
    }

    /// A section along z, from the slices nearest to equal steps.
    Section side_section(const PsfBeadSections& bead, const std::vector<float>& images) const {
        const auto [low, high] = std::minmax_element(bead.z_nm.begin(), bead.z_nm.end());
        const double low_nm = *low, high_nm = *high;
        const auto size = std::size_t(bead.size);
        const std::size_t rows = std::min(bead.z_nm.size(), max_side_rows);
        const double step_nm = std::max(1.0, (high_nm - low_nm) / double(std::max<std::size_t>(rows - 1, 1)));
        Section section{{}, {}, {}, low_nm - 0.5 * step_nm, low_nm + step_nm * (double(rows) - 0.5)};
        for (std::size_t row = 0; row < rows; ++row) {
            const auto distance = [&](double z_nm) { return std::abs(z_nm - (low_nm + step_nm * double(row))); };
            const auto nearest = std::min_element(bead.z_nm.begin(), bead.z_nm.end(),
                                                  [&](double a, double b) { return distance(a) < distance(b); });
            std::vector<double>* const to[] = {&section.data, &section.model, &section.residual};
            for (std::size_t kind = 0; kind < 3; ++kind) {
                const auto from = images.begin() + std::ptrdiff_t(kind * bead.z_nm.size() * size) +
                                  (nearest - bead.z_nm.begin()) * std::ptrdiff_t(size);
                to[kind]->insert(to[kind]->end(), from, from + std::ptrdiff_t(size));
            }
        }
        return section;
    }

    /// Data, PSF and residual, from left to right.
    void draw_section(const Section& section, std::size_t columns, const char* x, const char* y, double left,
                      double top, bool is_first, bool is_last, bool with_colors) {
        plots::Heat residual = light_of(section.residual, columns, section.low_nm, section.high_nm, {1});
        residual.low = -residual_range, residual.high = residual_range, residual.palette = plots::Palette::diverging;
        plots::Heat heats[] = {light_of(section.data, columns, section.low_nm, section.high_nm, section.data),
                               light_of(section.model, columns, section.low_nm, section.high_nm, section.data),
                               std::move(residual)};
        const char* names[] = {"data", "PSF", "residual"};
        for (std::size_t kind = 0; kind < 3; ++kind) {
            plots::Panel panel = image_panel(std::move(heats[kind]), is_last ? x : "", kind == 0 ? y : "");
            if (is_first) panel.title = names[kind];
            panel.x.has_numbers = is_last, panel.y.has_numbers = kind == 0;
            panel.has_colors = with_colors && kind == 2;
            place(std::move(panel), left + image_step * double(kind), top, bead_size);
        }
    }

    void draw_beads() {
        figure_.labels.push_back({{beads_left, beads_top - 34},
                                  fmt::format("{} of {} beads, largest misfit first; xy at z = {:.0f} nm; residual: "
                                              "data - PSF, in standard deviations of the noise",
                                              beads_.size(), used_, beads_.front()->sections.xy_z_nm)});
        const bool several_stacks =
            std::any_of(beads_.begin(), beads_.end(), [&](const PsfBead* bead) { return bead->file > 0; });
        for (std::size_t rank = 0; rank < beads_.size(); ++rank) {
            const PsfBead& bead = *beads_[rank];
            const PsfBeadSections& sections = bead.sections;
            const double top = beads_top + bead_step * double(rank);
            std::vector<std::string> lines{fmt::format("x {:.1f} px", bead.x_px), fmt::format("y {:.1f} px", bead.y_px),
                                           fmt::format("misfit {:.2f}", bead.misfit)};
            if (several_stacks) lines.insert(lines.begin(), fmt::format("stack {}", bead.file + 1));
            for (std::size_t k = 0; k < lines.size(); ++k)
                figure_.labels.push_back({{8, top + 30 + 20 * double(k)}, lines[k]});
            const auto size = std::size_t(sections.size);
            const bool is_first = rank == 0, is_last = rank + 1 == beads_.size();
            draw_section(xy_section(sections), size, "x (nm)", "y (nm)", beads_left, top, is_first, is_last, false);
            draw_section(side_section(sections, sections.xz), size, "x (nm)", "z (nm)", beads_left + group_step, top,
                         is_first, is_last, false);
            draw_section(side_section(sections, sections.yz), size, "y (nm)", "z (nm)", beads_left + 2 * group_step,
                         top, is_first, is_last, is_first);
        }
    }

    void draw_errors() {
        const auto curve = [&](double PsfSliceError::*value, const plots::Color& color, const char* name, bool has_dots,
                               bool is_dashed = false) {
            plots::Curve made{{}, color, name, 2, is_dashed, has_dots};
            for (const PsfSliceError& slice : c_.slices) made.points.push_back({slice.z_nm, slice.*value});
            return made;
        };
        plots::Panel z, xy, p;
        z.title = "z of test beads", z.y.label = "nm";
        z.curves = {curve(&PsfSliceError::z_bias_nm, plots::purple, "bias", true),
                    curve(&PsfSliceError::z_rms_nm, plots::green, "rms error", false),
                    curve(&PsfSliceError::z_crlb_nm, plots::blue, "CRLB", false, true)};
        xy.title = "x and y of test beads", xy.y.label = "nm";
        xy.curves = {curve(&PsfSliceError::x_bias_nm, plots::purple, "x bias", true),
                     curve(&PsfSliceError::y_bias_nm, plots::green, "y bias", true)};
        p.title = "Share of fits with p > 0.01" + describe_gain(), p.y.low = 0, p.y.high = 1.05;
        p.curves = {curve(&PsfSliceError::good_p, plots::purple, "", true)};
        std::size_t k = 0;
        for (plots::Panel* panel : {&z, &xy, &p}) {
            panel->x.label = "z (nm)", panel->marks = {c_.z_min_nm, c_.z_max_nm};
            figure_.panels.push_back(
                {std::move(*panel),
                 {errors_left + errors_step * double(k++), errors_top, errors_width, errors_height}});
        }
    }

    const PsfCalibration& c_;
    double px_nm_;
    std::vector<const PsfBead*> beads_;
    std::size_t used_ = 0;
    plots::Figure figure_;
};

}  // namespace

plots::Figure psf_figure(const PsfCalibration& calibration) { return PsfFigure(calibration).make(); }

}  // namespace glint::cli
