// Detector: maxima of the narrow filter at which the score reaches the threshold, frame by frame.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <array>
#include <cfloat>
#include <cmath>
#include <cstdlib>

#include "detect/detect_setup.hpp"
#include "detect/empty_noise.hpp"
#include "detect/score_rows.hpp"
#include "glint/detect.hpp"
#include "glint/error.hpp"

namespace glint {
void Spots::clear() { x.clear(), y.clear(), score.clear(); }

struct Detector::State {
    State(const CameraView& view, const DetectOptions& options)
        : camera(&view),
          threshold(threshold_of(view, options)),
          radius(Filter(options.filter).radius()),
          matched_filter(options.filter),
          rows(make_score_rows(view, options.filter)),
          noise(view, radius),
          narrow{PaddedRow(view.width(), -FLT_MAX), PaddedRow(view.width(), -FLT_MAX),
                 PaddedRow(view.width(), -FLT_MAX)},
          beyond(view.width(), -FLT_MAX),
          columns(std::size_t(view.width()) + row_margin),
          scores(std::size_t(view.width())) {}

    void begin(const float* photoelectrons);
    void filter(int y, const float* photoelectrons);
    void search(int y, float min_score, Spots& spots);
    bool is_plateau_of_earlier(int x, int y, float value);

    struct Maximum {
        int x, y;
        float value;
    };

    const CameraView* camera;
    float threshold;
    int radius;
    MatchedFilter matched_filter;
    std::unique_ptr<ScoreRows> rows,
        rows_if_missing;            ///< `rows` for frames with missing pixels, if `rows` does not support them
    ScoreRows* of_frame = nullptr;  ///< the one used for the current frame
    EmptyNoise noise;
    double spread = 0;
    std::array<PaddedRow, 3> narrow;  ///< rows y - 1, y, y + 1, each at its index modulo 3
    PaddedRow beyond;                 ///< replaces the rows outside the frame
    std::vector<int> columns;         ///< columns of the maxima in a row
    std::vector<float> scores;
    std::vector<Maximum> maxima;
};

/// A saturated area is a plateau of exactly equal values with a maximum at each corner; only the first is kept.
bool Detector::State::is_plateau_of_earlier(int x, int y, float value) {
    const int reach = plateau_reach(radius);
    bool found = false;
    for (auto k = maxima.rbegin(); k != maxima.rend() && y - k->y <= reach && !found; ++k)
        found = k->value == value && std::abs(k->x - x) <= reach;
    maxima.push_back({x, y, value});
    return found;
}

void Detector::State::begin(const float* photoelectrons) {
    of_frame = rows.get();
    rows->begin(photoelectrons);
    if (!rows->background().has_missing() || !camera->variance_map().empty()) return;
    if (!rows_if_missing) rows_if_missing = make_weighted_score_rows(*camera, matched_filter);
    of_frame = rows_if_missing.get();
    of_frame->begin(photoelectrons);
}

/// Computes the narrow filter of row y. Missing pixels, like those beyond the frame's edge, are lower than any value.
void Detector::State::filter(int y, const float* photoelectrons) {
    float* to = narrow[std::size_t(y) % 3].data();
    of_frame->row(y, to);
    if (!of_frame->background().has_missing()) return;
    const float* pixels = photoelectrons + std::size_t(y) * std::size_t(camera->width());
    for (int x = 0; x < camera->width(); ++x)
        if (std::isnan(pixels[x])) to[x] = -FLT_MAX;
}

void Detector::State::search(int y, float min_score, Spots& spots) {
    const float* here = narrow[std::size_t(y) % 3].data();
    const SearchedRows searched{y > 0 ? narrow[std::size_t(y + 2) % 3].data() : beyond.data(), here,
                                y + 1 < camera->height() ? narrow[std::size_t(y + 1) % 3].data() : beyond.data()};
    const auto found = std::size_t(GLINT_PICK(find_maxima)(searched, camera->width(), columns.data()));
    of_frame->scores(y, std::span(columns).first(found), scores.data());
    for (std::size_t k = 0; k < found; ++k) {
        const int x = columns[k];
        if (!(scores[k] >= min_score) || is_plateau_of_earlier(x, y, here[x])) continue;
        spots.x.push_back(x);
        spots.y.push_back(y);
        spots.score.push_back(scores[k]);
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
    s.begin(photoelectrons.data());
    s.noise.sample(photoelectrons.data(), s.of_frame->background());
    const float min_score = s.threshold * noise_excess(s.noise.spread());
    for (int y = 0; y < height; ++y) {
        s.filter(y, photoelectrons.data());
        if (y > 0) s.search(y - 1, min_score, spots);
    }
    s.search(height - 1, min_score, spots);
    s.noise.leave_out(spots);
    s.spread = s.noise.spread();
}

double Detector::noise_check() const { return state_->spread; }

}  // namespace glint
