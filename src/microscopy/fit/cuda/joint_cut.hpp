// Cuts the pixels of a group on a GPU, with the light of other groups as a known signal. The CPU's version is in
// fit/joint/windows.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "fit/cuda/joint_launch.hpp"
#include "fit/joint/space.hpp"

namespace glint::GLINT_ISA {

template <class Psf>
class JointCutter {
  public:
    /// `given`: the input described at JointPlace. `planes`: room for the planes of a JointImage.
    GLINT_INLINE JointCutter(const JointLaunch& launch, const JointPlace& place, const float* given, float* planes)
        : launch_(launch), place_(place), corners_(given), pixels_(place.pitch * place.height), planes_(planes) {
        const int area = launch.size * launch.size * place.windows;
        photoelectrons_ = corners_ + joint_corners * place.windows;
        variance_ = photoelectrons_ + area;
        qe_ = variance_ + (launch.variance_map ? area : 0);
        light_ = qe_ + (launch.qe_map ? area : 0);
    }

    /// Cuts everything except the light.
    GLINT_INLINE void cut(JointImage& image) const {
        const int width = place_.width, pitch = place_.pitch;
        float has_read_noise = 0;
        for (int p = Team::rank(); p < pixels_; p += Team::size) {
            const int x = p % pitch, y = p / pitch;
            JointPixel pixel{1, 1, 0, 0};
            float searched = 0;
            for (int k = 0; k < place_.windows && x < width; ++k) {
                const float* corner = corners_ + k * joint_corners;
                const int at = offset(x - int(corner[0]), y - int(corner[1]), launch_.size);
                if (at >= 0) {
                    const int from = k * launch_.size * launch_.size + at;
                    const float read = launch_.variance_map ? variance_[from] : launch_.variance;
                    const float qe = launch_.qe_map ? qe_[from] : launch_.qe;
                    if (is_used(photoelectrons_[from])) {
                        pixel = joint_pixel(photoelectrons_[from], read, 0, qe / launch_.excess_noise);
                        has_read_noise = read > 0 ? 1 : has_read_noise;
                    }
                }
                if (offset(x - int(corner[2]), y - int(corner[3]), launch_.searched_size) >= 0) searched = 1;
            }
            plane(0)[p] = pixel.data, plane(1)[p] = pixel.known, plane(2)[p] = pixel.per_photon;
            plane(3)[p] = pixel.variance, plane(4)[p] = searched;
        }
        image = {width,
                 place_.height,
                 pitch,
                 JointNoise::ideal,
                 plane(0),
                 plane(1),
                 plane(2),
                 plane(3),
                 place_.search ? plane(4) : nullptr};
        if (Team::greatest_of_members(has_read_noise) > 0) image.noise = JointNoise::poisson;
        if (launch_.excess_noise > 1) image.noise = JointNoise::multiplied;
        Team::sync();
    }

    /// Adds the light to the known signal. Returns false if a previously fitted group needs no second fit.
    GLINT_INLINE bool add_light(const Psf& psf, const JointImage& image, JointSpace<Psf>& space) const {
        float* before = space.score;
        if (place_.again) {
            for (int p = Team::rank(); p < pixels_; p += Team::size) before[p] = image.known[p];
            Team::sync();
            add(psf, image, space, light_ + place_.light * max_psf_parameters, place_.earlier, before);
        }
        add(psf, image, space, light_, place_.light, plane(1));
        if (!place_.again) return true;
        float sum = 0;
        for (int p = Team::rank(); p < pixels_; p += Team::size) {
            const float change = image.known[p] - before[p];
            sum += change * change / max_of(image.data[p], 1.0f);
        }
        return Team::sum_of_members(sum) > known_that_matters;
    }

  private:
    GLINT_INLINE float* plane(int k) const { return planes_ + k * pixels_; }
    /// Returns the offset of a position in a window of that size; -1 outside the window.
    static GLINT_INLINE int offset(int x, int y, int size) {
        return x >= 0 && y >= 0 && x < size && y < size ? y * size + x : -1;
    }
    GLINT_INLINE void add(const Psf& psf, const JointImage& image, JointSpace<Psf>& space, const float* thetas,
                          int count, float* to) const {
        add_lights(psf, thetas, count, image, space.images[0], space.profiles[0], place_.molecules, to);
    }

    const JointLaunch& launch_;
    const JointPlace& place_;
    const float *corners_, *photoelectrons_, *variance_, *qe_, *light_;
    const int pixels_;
    float* planes_;
};

}  // namespace glint::GLINT_ISA
