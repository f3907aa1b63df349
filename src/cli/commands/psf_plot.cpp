// The picture of a measured PSF, drawn by gnuplot: its sections, the errors of the fits that tested it, and sections of
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
#include "workflow/gnuplot.hpp"

namespace glint::cli {
namespace {

/// An image with axes in nanometres.
struct PlotImage {
    std::vector<double> values;  ///< row by row
    std::size_t columns;
    double x_nm, x_step_nm, y_nm, y_step_nm;  ///< centre of the first pixel, and distances

    double x_end_nm() const { return x_nm + x_step_nm * double(columns - 1); }
    double y_end_nm() const { return y_nm + y_step_nm * double(values.size() / columns - 1); }
};

class PsfFigure {
  public:
    explicit PsfFigure(const PsfCalibration& c) : c_(c), px_nm_(c.table->scale().pixel_size_nm) {
        for (const PsfBead& bead : c.beads)
            if (bead.sections.size > 0) beads_.push_back(&bead);
        std::stable_sort(beads_.begin(), beads_.end(),
                         [](const PsfBead* a, const PsfBead* b) { return a->misfit > b->misfit; });
        used_ = beads_.size();
        beads_.resize(std::min(used_, max_beads));
        height_ = beads_top + bead_step * double(beads_.size()) + 50;
    }

    std::string script() {
        text_ = script_of_plot("lens", int(width), int(height_));
        text_ += "set multiplot\nunset key\nunset colorbox\nset tics nomirror\n";
        draw_psf();
        draw_beads();
        draw_errors();
        return text_ + "unset multiplot\n";
    }

  private:
    static constexpr std::size_t planes = 5, max_rows = 61;  // along z
    static constexpr std::size_t max_beads = 6;
    static constexpr double residual_range = 5;  // of noise alone, 0.6 pixels of a million lie beyond
    static constexpr const char* light = "defined (0 '#000004', 1 '#57106e', 2 '#bc3754', 3 '#f98e09', 4 '#fcffa4')";
    static constexpr const char* diverging =
        "defined (-2 '#053061', -1 '#4393c3', 0 '#f7f7f7', 1 '#d6604d', 2 '#67001f')";
    // Layout, px of the picture from its top left corner.
    static constexpr double width = 1500, psf_left = 75, psf_top = 45, psf_size = 150, psf_step = 204;
    static constexpr double errors_left = 75, errors_top = 310, errors_height = 170, errors_width = 380,
                            errors_step = 490;
    static constexpr double beads_left = 175, beads_top = 620, bead_size = 118, bead_step = 130, image_step = 124,
                            group_step = 440, scale_left = 1435, scale_width = 12;

    /// Places the next panel, without its labels.
    void place(double x, double y, double w, double h) {
        text_ += fmt::format(
            "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset tmargin at screen {:.5f}\nset bmargin at "
            "screen {:.5f}\n",
            x / width, (x + w) / width, 1 - y / height_, 1 - (y + h) / height_);
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten: two to seven, away from the ends of the axis.
    static std::string ticks(double low, double high) {
        const double range = std::abs(high - low), inner = 0.08 * range;
        const double longest = 0.36 * range, power = std::pow(10, std::floor(std::log10(longest)));
        const double step = longest >= 5 * power ? 5 * power : longest >= 2 * power ? 2 * power : power;
        return fmt::format("{:g},{:g},{:g}", step * std::ceil((std::min(low, high) + inner) / step), step,
                           step * std::floor((std::max(low, high) - inner) / step));
    }

    void draw_image(const PlotImage& image, double low, double high, const char* palette) {
        const double left = image.x_nm - 0.5 * image.x_step_nm, right = image.x_end_nm() + 0.5 * image.x_step_nm,
                     first = image.y_nm - 0.5 * image.y_step_nm, last = image.y_end_nm() + 0.5 * image.y_step_nm;
        text_ += "$image << END\n";
        for (std::size_t k = 0; k < image.values.size(); ++k)
            text_ += fmt::format("{:.4g}{}", image.values[k], (k + 1) % image.columns == 0 ? '\n' : ' ');
        text_ += fmt::format(
            "END\nset palette {}\nset cbrange [{:.6g}:{:.6g}]\nset xrange [{:.6g}:{:.6g}]\nset yrange "
            "[{:.6g}:{:.6g}]\nset xtics {}\nset ytics {}\n",
            palette, low, high, left, right, first, last, ticks(left, right), ticks(first, last));
        text_ +=
            fmt::format("plot $image matrix using ({:.6g}+$1*{:.6g}):({:.6g}+$2*{:.6g}):3 with image\nunset label\n",
                        image.x_nm, image.x_step_nm, image.y_nm, image.y_step_nm);
    }

    double first_px_nm(int size) const { return -0.5 * (size - 1) * px_nm_; }

    PlotImage xy_image(std::vector<double> values, int size) const {
        const double first = first_px_nm(size);
        return {std::move(values), std::size_t(size), first, px_nm_, first, px_nm_};
    }

    /// The PSF at a z, in the pixels of the window around its middle.
    std::vector<double> image_at(const PsfInDouble& psf, double z_nm) const {
        const int size = c_.roi_size;
        std::vector<double> image(std::size_t(size) * std::size_t(size), 0.0);
        const double theta[] = {0.5 * (size - 1), 0.5 * (size - 1), 1, 0, nm_to_um(z_nm)};
        psf.add_photons(theta, 0, 0, size, size, image.data());
        return image;
    }

    /// Draws photons with the colours of another image, or of the image itself.
    void draw_light(const PlotImage& image, const PlotImage& scale) {
        const double brightest = *std::max_element(scale.values.begin(), scale.values.end());
        draw_image(image, brightest > 0 ? 0 : brightest - 1, brightest, light);
    }
    void draw_light(const PlotImage& image) { draw_light(image, image); }

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
        const double depth = c_.z_max_nm - c_.z_min_nm;
        text_ += "set xlabel 'x (nm)'\nset ylabel 'y (nm)' offset 1\n";
        for (std::size_t k = 0; k < planes; ++k) {
            const double z_nm = c_.z_min_nm + depth * double(k) / double(planes - 1);
            place(psf_left + psf_step * double(k), psf_top, psf_size, psf_size);
            text_ += fmt::format("set title '{}z = {:.0f} nm'\n", k == 0 ? describe_psf() : "", z_nm);
            draw_light(xy_image(image_at(psf, z_nm), c_.roi_size));
            text_ += "set ylabel ''\n";
        }
        const double step_nm = depth / double(max_rows - 1);
        const auto size = std::size_t(c_.roi_size);
        PlotImage xz{{}, size, first_px_nm(c_.roi_size), px_nm_, c_.z_min_nm, step_nm}, yz = xz;
        for (std::size_t row = 0; row < max_rows; ++row) {
            const std::vector<double> image = image_at(psf, c_.z_min_nm + step_nm * double(row));
            for (std::size_t i = 0; i < size; ++i) {
                xz.values.push_back(image[size / 2 * size + i]);
                yz.values.push_back(image[i * size + size / 2]);
            }
        }
        text_ += "set ylabel 'z (nm)' offset 1\nset title 'PSF, xz'\n";
        place(psf_left + psf_step * double(planes) + 12, psf_top, psf_size, psf_size);
        draw_light(xz);
        text_ += "set ylabel ''\nset xlabel 'y (nm)'\nset title 'PSF, yz'\n";
        place(psf_left + psf_step * double(planes + 1) + 12, psf_top, psf_size, psf_size);
        draw_light(yz);
    }

    /// One of the three images of a section along z, from the slices nearest to equal steps.
    PlotImage side_image(const PsfBeadSections& bead, const std::vector<float>& images, std::size_t kind) const {
        const double low_nm = *std::min_element(bead.z_nm.begin(), bead.z_nm.end());
        const double high_nm = *std::max_element(bead.z_nm.begin(), bead.z_nm.end());
        const auto size = std::size_t(bead.size);
        const std::size_t rows = std::min(bead.z_nm.size(), max_rows);
        const double step_nm = std::max(1.0, (high_nm - low_nm) / double(std::max<std::size_t>(rows - 1, 1)));
        PlotImage image{{}, size, first_px_nm(bead.size), px_nm_, low_nm, step_nm};
        for (std::size_t row = 0; row < rows; ++row) {
            const auto distance = [&](double z_nm) { return std::abs(z_nm - (low_nm + step_nm * double(row))); };
            const auto nearest = std::min_element(bead.z_nm.begin(), bead.z_nm.end(),
                                                  [&](double a, double b) { return distance(a) < distance(b); });
            const auto from = images.begin() + std::ptrdiff_t(kind * bead.z_nm.size() * size) +
                              (nearest - bead.z_nm.begin()) * std::ptrdiff_t(size);
            image.values.insert(image.values.end(), from, from + std::ptrdiff_t(size));
        }
        return image;
    }

    /// Data, PSF and residual, from left to right.
    void draw_section(const std::vector<PlotImage>& images, double x, double y, bool with_scale) {
        for (std::size_t kind = 0; kind < 3; ++kind) {
            const bool is_residual = kind == 2;
            place(x + image_step * double(kind), y, bead_size, bead_size);
            if (kind == 1) text_ += "set format y ''\nset ylabel ''\n";
            if (is_residual && with_scale)
                text_ += fmt::format(
                    "set colorbox vertical user origin screen {:.5f}, screen {:.5f} size screen {:.5f}, screen {:.5f}\n"
                    "set cbtics 5\n",
                    scale_left / width, 1 - (y + bead_size) / height_, scale_width / width, bead_size / height_);
            if (is_residual)
                draw_image(images[kind], -residual_range, residual_range, diverging);
            else
                draw_light(images[kind], images[0]);
        }
        text_ += "unset colorbox\n";
    }

    void draw_bead(std::size_t rank) {
        const PsfBead& bead = *beads_[rank];
        const PsfBeadSections& sections = bead.sections;
        const double y = beads_top + bead_step * double(rank);
        const bool is_last = rank + 1 == beads_.size();
        text_ += fmt::format("set label 100 \"{}x {:.1f} px\\ny {:.1f} px\\nmisfit {:.2f}\" at screen {:.5f},{:.5f}\n",
                             several_stacks() ? fmt::format("stack {}\\n", bead.file + 1) : "", bead.x_px, bead.y_px,
                             bead.misfit, 8 / width, 1 - (y + 0.4 * bead_size) / height_);
        const auto size = std::size_t(sections.size);
        for (std::size_t group = 0; group < 3; ++group) {
            std::vector<PlotImage> images;
            for (std::size_t kind = 0; kind < 3; ++kind) {
                const auto first = sections.xy.begin() + std::ptrdiff_t(kind * size * size);
                images.push_back(group == 0 ? xy_image({first, first + std::ptrdiff_t(size * size)}, sections.size)
                                            : side_image(sections, group == 1 ? sections.xz : sections.yz, kind));
            }
            text_ += fmt::format("set format y '%g'\nset ylabel '{} (nm)' offset 1\n", group == 0 ? "y" : "z");
            text_ += is_last ? fmt::format("set format x '%g'\nset xlabel '{} (nm)'\n", group == 2 ? "y" : "x")
                             : "set format x ''\nset xlabel ''\n";
            draw_section(images, beads_left + group_step * double(group), y, rank == 0 && group == 2);
        }
    }

    bool several_stacks() const {
        return std::any_of(beads_.begin(), beads_.end(), [&](const PsfBead* bead) { return bead->file > 0; });
    }

    void draw_beads() {
        text_ += "unset title\n";
        const char* names[] = {"xy", "xz", "yz"};
        for (std::size_t group = 0; group < 3; ++group)
            for (std::size_t kind = 0; kind < 3; ++kind)
                text_ += fmt::format(
                    "set label '{}{}' at screen {:.5f},{:.5f} center\n",
                    kind == 0 ? fmt::format("{} ", names[group]) : "",
                    kind == 0   ? "data"
                    : kind == 1 ? "PSF"
                                : "residual",
                    (beads_left + group_step * double(group) + image_step * double(kind) + 0.5 * bead_size) / width,
                    1 - (beads_top - 12) / height_);
        text_ += fmt::format(
            "set label '{} of {} beads, largest misfit first; xy at z = {:.0f} nm; residual: data - PSF, in standard "
            "deviations of the noise' at screen {:.5f},{:.5f}\n",
            beads_.size(), used_, beads_.front()->sections.xy_z_nm, beads_left / width, 1 - (beads_top - 40) / height_);
        for (std::size_t rank = 0; rank < beads_.size(); ++rank) draw_bead(rank);
    }

    void draw_curves(std::size_t panel, const std::string& title, const char* curves) {
        place(errors_left + errors_step * double(panel), errors_top, errors_width, errors_height);
        text_ += fmt::format("set title '{}' offset 0,1\nplot {}\nunset arrow\n", title, curves);
    }

    void draw_errors() {
        text_ += "$errors << END\n";
        for (const PsfSliceError& s : c_.slices)
            text_ += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g}\n", s.z_nm, s.z_bias_nm, s.z_rms_nm,
                                 s.z_crlb_nm, s.x_bias_nm, s.y_bias_nm, s.good_p);
        const double first_nm = c_.slices.front().z_nm, last_nm = c_.slices.back().z_nm,
                     margin_nm = 0.04 * (last_nm - first_nm);
        text_ += fmt::format(
            "END\nset xrange [{:.6g}:{:.6g}]\nset yrange [*:*]\nset format '%g'\nset xlabel 'z (nm)'\nset ylabel "
            "'nm' offset 0\nset xtics {}\nset ytics auto\nset grid lc rgb '#dddddd'\nset key horizontal maxrows 1 "
            "samplen 2 center bottom at graph 0.5, "
            "graph 1.0\n",
            first_nm - margin_nm, last_nm + margin_nm, ticks(first_nm - margin_nm, last_nm + margin_nm));
        const auto mark_range = [&] {
            for (const double z_nm : {c_.z_min_nm, c_.z_max_nm})
                text_ +=
                    fmt::format("set arrow from {0:.6g}, graph 0 to {0:.6g}, graph 1 nohead lc rgb '#999999'\n", z_nm);
        };
        mark_range();
        draw_curves(0, "z of test beads",
                    "$errors using 1:2 with linespoints pt 7 ps 0.5 title 'bias', $errors using 1:3 with lines lw 2 "
                    "title 'rms error', $errors using 1:4 with lines dt 2 lw 2 title 'CRLB'");
        mark_range();
        draw_curves(1, "x and y of test beads",
                    "$errors using 1:5 with linespoints pt 7 ps 0.5 title 'x bias', $errors using 1:6 with linespoints "
                    "pt 7 ps 0.5 title 'y bias'");
        mark_range();
        text_ += "set yrange [0:1.05]\nset ylabel ''\n";
        draw_curves(2, "share of fits with p > 0.01" + describe_gain(),
                    "$errors using 1:7 with linespoints pt 7 ps 0.5 notitle");
    }

    const PsfCalibration& c_;
    double px_nm_, height_ = 0;
    std::vector<const PsfBead*> beads_;  ///< that are drawn
    std::size_t used_ = 0;
    std::string text_;
};

}  // namespace

std::string psf_script(const PsfCalibration& calibration) { return PsfFigure(calibration).script(); }

}  // namespace glint::cli
