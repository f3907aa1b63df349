// The groups of one frame: who shares pixels, the pixels of each, and large groups in blocks.
//
// A group with more windows than a block holds is bisected until its blocks do. Blocks are fitted with all other
// molecules as a known signal, and those beside other blocks a second time: all are found by then. Where that light is of many,
// or of the same group, they are first fitted without a search: fits of lone windows have the light of several molecules, and a
// search beside them would make up for it. Blocks that share no pixels may have a turn in common, and are fitted at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fit/joint/windows.hpp"
#include "glint/fits.hpp"
#include "glint/rois.hpp"
#include "psf/in_double.hpp"

namespace glint {

/// What all frames share. Borrowed.
struct GroupInput {
    const Rois& rois;  // the windows of the fits
    const Rois& wide;  // larger ones of the same spots
    const PsfInDouble& psf;
    JointFitter& fitter;  // of the calling thread
    int shapes;           // parameters beyond the first four
    const Fits& fits;
    std::vector<std::vector<std::size_t>> rows_of;  // by window
};

class FrameGroups {
  public:
    /// Of windows [begin, end), all of one frame.
    FrameGroups(const GroupInput& input, std::size_t begin, std::size_t end);

    /// Blocks are fitted in passes, a pass in turns.
    static constexpr int passes = 3;
    int turns() const { return turns_; }
    /// Fits the blocks of that turn, with the light of the others as known by now. Calls look() before each.
    void find(int pass, int turn, const std::function<void()>& look);
    /// Or adds them to `cuts`, which others fit before settle().
    void collect(int pass, int turn, std::vector<JointCut>& cuts);
    /// After find(), or when all that collect() gave is done.
    void settle(int pass);
    /// After the last pass: appends the rows of all windows to `out`, and for each the number of molecules in its group, 0
    /// where the fit is as it was.
    void write(Fits& out, std::vector<std::uint32_t>& group_sizes);

  private:
    using Windows = std::vector<std::size_t>;
    /// A block of a group, and what was found there; or a lone molecule, which stays as it is.
    struct Block {
        Windows windows;
        std::size_t group = SIZE_MAX;  // none: it stays
        int turn = 0;
        bool is_part = false;  // of a group that was cut
        bool again = false;    // it sees the light of others that are fitted
        bool is_late = false;  // it is searched after a fit of all
        Rectangle rectangle;
        JointPixels pixels;             // as fitted here, from the first turn on
        std::vector<JointLight> light;  // of others in the last turn, and in the one before, where a GPU cuts
        std::vector<JointLight> earlier;
        JointFit fit;
        double left = 0, right = 0, top = 0, bottom = 0;  // where its molecules' light reaches
        std::vector<double> reaches;                      // and how far that of each, px
        std::uint32_t seen = 0;                           // by the last of blocks_near() that came upon it
    };
    struct Found {
        bool by_group = false;
        struct Row {
            Emitter emitter;
            std::size_t block, number;  // of its fit, and in it
        };
        std::vector<Row> rows;
    };

    bool is_alone(const Windows& group) const;
    bool is_explained(const Windows& group) const;
    bool has_bad_pixels(const Windows& group) const;
    Block block_of(Windows windows) const;
    void take_turns();
    void leave_to_others(std::size_t b, int pass);
    bool is_anothers(std::size_t b, const Emitter& emitter, int pass);
    bool is_within(const Block& block, double x, double y) const;
    void measure(Block& block) const;
    void clear_cells();
    template <class Act>
    void for_cells(double left, double right, double top, double bottom, const Act& act);
    void note_light(std::size_t b);
    const std::vector<std::uint32_t>& blocks_near(double left, double right, double top, double bottom);
    std::vector<JointLight> light_of_others(std::size_t b);
    static bool has_turn(const Block& block, int pass);
    static bool searches(const Block& block, int pass);
    void cut(std::size_t b);
    bool cut_again(std::size_t b);
    template <class Act>
    void for_turn(int pass, int turn, const Act& act);
    void keep(std::size_t b);
    void write(std::size_t window, Fits& out, std::vector<std::uint32_t>& group_sizes) const;

    const GroupInput& input_;
    const std::size_t begin_, end_;
    int turns_ = 0;
    std::vector<Block> blocks_;
    std::vector<Found> found_;              // by window
    std::vector<std::uint32_t> molecules_;  // by group
    std::vector<std::size_t> at_work_;      // blocks between collect() and settle()
    std::vector<JointFit> alone_;           // of these, before
    static constexpr int cell_px = 32;
    int columns_ = 1, rows_ = 1;
    std::vector<std::vector<std::uint32_t>> cells_;  // the blocks whose light reaches into each
    std::vector<std::uint32_t> near_;
    std::uint32_t look_ = 0;           // of blocks_near()
    std::vector<float> known_before_;  // of the block at hand
};

}  // namespace glint
