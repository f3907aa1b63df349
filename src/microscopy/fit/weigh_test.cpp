// Tests of the kinds of work, by model and ROI size.
// SPDX-License-Identifier: MIT
#include "fit/weigh.hpp"

#include <gtest/gtest.h>

#include <set>

#include "glint/rois.hpp"

using namespace glint;

TEST(Weigh, each_model_and_size_is_a_kind_of_work_of_its_own) {
    std::set<const offload::Operation*> different;
    for (const PsfModel model : psf_models())
        for (int size = min_roi_size; size <= max_roi_size; ++size) {
            RoiView rois;
            rois.size = size, rois.count = 1;
            const offload::Operation* operation = fit_work(rois, 0, model, {}).operation;
            EXPECT_EQ(operation, fit_work(rois, 0, model, {}).operation);
            EXPECT_EQ(operation->unit, "fits");
            const std::string expected = std::string(to_name(model)) + " " + std::to_string(size) + " px";
            EXPECT_EQ(operation->name, "fit " + expected);
            EXPECT_EQ(model_operation("localize", model, size, true, "pixels", 1).name,
                      "localize " + expected + " mapped");
            different.insert(operation);
        }
    EXPECT_EQ(different.size(), psf_models().size() * (max_roi_size - min_roi_size + 1));
}
