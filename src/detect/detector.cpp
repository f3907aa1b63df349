// Finding spots frame after frame: maxima of the narrow filter where the score is high enough.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <cfloat>
#include <cstdlib>

#include "detect/empty_noise.hpp"
#include "detect/score_rows.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"

namespace glint {
namespace {

constexpr double least_sigma_px = 0.3, most_sigma_px = 8;
constexpr double least_threshold = 1, most_threshold = 1000;
constexpr double default_threshold = 5, default_em_threshold = 6;

void check(const DetectOptions& options) {
    if (!(options.sigma_px >= least_sigma_px && options.sigma_px <= most_sigma_px))
        throw OptionError(
            fmt::format("spots of width sigma = {:.3g} px cannot be detected, {} to {} px can: check the "
                        "width (--sigma) and the "
                        "pixel size (--pixel-size)",
                        options.sigma_px, least_sigma_px, most_sigma_px));
    if (options.threshold == 0) return;
    if (!(options.threshold >= least_threshold && options.threshold <= most_threshold))
        throw OptionError(
            fmt::format("a threshold of {:.3g} standard deviations is outside {} to {}: give "
                        "--threshold 5, more for fewer false spots",
                        options.threshold, least_threshold, most_threshold));
}

float threshold_of(const CameraView& camera, const DetectOptions& options) {
    if (options.threshold > 0) return float(options.threshold);
    return float(camera.excess_noise() > 1 ? default_em_threshold : default_threshold);
}

}  // namespace

void Spots::clear() { x.clear(), y.clear(), score.clear(); }

struct Detector::State {
    State(const CameraView& view, const DetectOptions& options)
        : camera(&view),
          threshold(threshold_of(view, options)),
          radius(Filter(options.sigma_px).radius()),
          rows(make_score_rows(view, options.sigma_px)),
          noise(view, radius),
          narrow{PaddedRow(view.width(), -FLT_MAX), PaddedRow(view.width(), -FLT_MAX),
                 PaddedRow(view.width(), -FLT_MAX)},
          beyond(view.width(), -FLT_MAX),
          score{std::vector<float>(std::size_t(view.width())), std::vector<float>(std::size_t(view.width()))},
          columns(std::size_t(view.width())) {}

    void search(int y, float least_score, Spots& spots);
    float excess();
    bool is_plateau_of_earlier(int x, int y, float value);

    struct Maximum {
        int x, y;
        float value;
    };

    const CameraView* camera;
    float threshold;
    int radius;
    std::unique_ptr<ScoreRows> rows;
    EmptyNoise noise;
    double spread = 0;
    std::array<PaddedRow, 3> narrow;  ///< rows y - 1, y, y + 1, each at its number modulo 3
    PaddedRow beyond;                 ///< the row above the first and below the last
    std::array<std::vector<float>, 2> score;
    std::array<bool, 2> is_worth_searching{};
    std::vector<int> columns;
    std::vector<Maximum> maxima;
};

/// How much more noise the frame has than the camera model says; 1 when that could be chance. The threshold rises by
/// it, so that a wrong camera costs dim spots and does not fill the picture with noise.
float Detector::State::excess() {
    const double found = noise.spread();
    return found > most_noise_spread ? float(found) : 1.0f;
}

/// A saturated area is one plateau of exactly equal values, with a maximum at each of its corners: keep the
/// first.
bool Detector::State::is_plateau_of_earlier(int x, int y, float value) {
    const int reach = 2 * radius + 2;
    bool found = false;
    for (auto k = maxima.rbegin(); k != maxima.rend() && y - k->y <= reach && !found; ++k)
        found = k->value == value && std::abs(k->x - x) <= reach;
    maxima.push_back({x, y, value});
    return found;
}

void Detector::State::search(int y, float least_score, Spots& spots) {
    if (!is_worth_searching[std::size_t(y) % 2]) return;
    const float* here = narrow[std::size_t(y) % 3].data();
    const float* scores = score[std::size_t(y) % 2].data();
    const SearchedRows searched{y > 0 ? narrow[std::size_t(y + 2) % 3].data() : beyond.data(), here,
                                y + 1 < camera->height() ? narrow[std::size_t(y + 1) % 3].data() : beyond.data(),
                                scores};
    const int found = GLINT_PICK(find_maxima)(searched, camera->width(), least_score, columns.data());
    for (int k = 0; k < found; ++k) {
        const int x = columns[std::size_t(k)];
        if (is_plateau_of_earlier(x, y, here[x])) continue;
        spots.x.push_back(x);
        spots.y.push_back(y);
        spots.score.push_back(scores[x]);
    }
}

Detector::Detector(const CameraView& camera, const DetectOptions& options) {
    check(options);
    state_ = std::make_unique<State>(camera, options);
}

Detector::~Detector() = default;
Detector::Detector(Detector&&) noexcept = default;

void Detector::find(std::span<const float> photoelectrons, Spots& spots) {
    State& s = *state_;
    const int height = s.camera->height();
    if (photoelectrons.size() != std::size_t(s.camera->width()) * height)
        throw OptionError(fmt::format("a frame of {} pixels was given to a detector for {}x{}", photoelectrons.size(),
                                      s.camera->width(), height));
    spots.clear();
    s.maxima.clear();
    if (photoelectrons.empty()) return;
    s.rows->begin(photoelectrons.data());
    s.noise.sample(photoelectrons.data(), s.rows->background());
    const float least_score = s.threshold * s.excess();
    for (int y = 0; y < height; ++y) {
        s.is_worth_searching[std::size_t(y) % 2] =
            s.rows->row(y, least_score, s.score[std::size_t(y) % 2].data(), s.narrow[std::size_t(y) % 3].data());
        if (y > 0) s.search(y - 1, least_score, spots);
    }
    s.search(height - 1, least_score, spots);
    s.noise.leave_out(spots);
    s.spread = s.noise.spread();
}

double Detector::empty_score_spread() const { return state_->spread; }

}  // namespace glint
