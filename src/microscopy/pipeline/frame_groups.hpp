// The groups of one frame: who shares pixels, the pixels of each, and large groups in blocks.
//
// A group with more windows than a block holds is bisected until its blocks do. Blocks are fitted with all other
// molecules as a known signal, and those beside other blocks up to twice again: all are found by then. If that light is
// of many molecules, or of the same group, they are first fitted without a search. Fits of lone windows contain the
// light of several molecules, and a search beside them would compensate for it. Blocks that share no pixels may have a
// turn in common, and are fitted simultaneously.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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
    const Fits& fits;     // row k is that of window k
};

class FrameGroups {
  public:
    /// Of windows [begin, end), all of one frame.
    FrameGroups(const GroupInput& input, std::size_t begin, std::size_t end);

    /// Blocks are fitted in passes, a pass in turns.
    static constexpr int passes = 4;
    int turns() const { return turns_; }
    /// Fits the blocks of that turn, with the light of the others as known by now. Calls look() before each.
    void find(int pass, int turn, const std::function<void()>& look);
    /// Or adds them to `cuts`, which others fit before settle().
    void collect(int pass, int turn, std::vector<JointCut>& cuts);
    /// After find(), or when all that collect() gave is done.
    void settle(int pass);
    /// After the last pass: appends the rows of all windows to `out`, and for each the number of molecules in its
    /// group, 0 if the fit is unchanged.
    void write(Fits& out, std::vector<std::uint32_t>& group_sizes);

  private:
    using Windows = std::span<std::size_t>;  // of windows_
    /// The fit of a block.
    struct Work {
        std::size_t group = 0;
        int turn = 0;
        bool is_part = false;  // of a group that was cut
        bool again = false;    // it sees the light of others that are fitted
        bool is_late = false;  // it is searched after a fit of all
        Rectangle rectangle;
        JointPixels pixels;             // as fitted here, from the first turn on
        std::vector<JointLight> light;  // of others in the last turn, and in the one before, where a GPU cuts
        std::vector<JointLight> earlier;
        JointFit fit;
    };
    /// A block of a group, or a lone molecule.
    struct GroupBlock {
        Windows windows;
        std::unique_ptr<Work> work;                       // null: its fits stay unchanged
        double left = 0, right = 0, top = 0, bottom = 0;  // where its molecules' light reaches
        std::uint32_t seen = 0;                           // by the last of blocks_near() that came upon it
    };
    /// A molecule of a block's fit, or of none: that of its window.
    struct Row {
        std::size_t window, number;  // in the fit
        const Work* work;
    };

    bool is_alone(Windows group) const;
    bool is_explained(Windows group) const;
    bool has_bad_pixels(Windows group) const;
    void start(Windows windows, JointFit& fit) const;
    const std::vector<Emitter>& molecules_of(const GroupBlock& block);
    void take_turns();
    void leave_to_others(std::size_t b, int pass);
    bool is_anothers(std::size_t b, const Emitter& emitter, int pass);
    bool is_within(const GroupBlock& block, double x, double y) const;
    void measure(GroupBlock& block);
    void clear_cells();
    template <class Act>
    void for_cells(double left, double right, double top, double bottom, const Act& act);
    void note_light(std::size_t b);
    const std::vector<std::uint32_t>& blocks_near(double left, double right, double top, double bottom);
    std::vector<JointLight> light_of_others(std::size_t b);
    static bool has_turn(const Work& work, int pass);
    static bool searches(const Work& work, int pass);
    void cut(std::size_t b);
    bool cut_again(std::size_t b);
    template <class Act>
    void for_turn(int pass, int turn, const Act& act);
    std::size_t window_of(const Emitter& emitter, Windows windows) const;
    void write(const Row& row, Fits& out, std::vector<std::uint32_t>& group_sizes) const;

    const GroupInput& input_;
    std::vector<std::size_t> windows_;
    int turns_ = 0;
    std::vector<GroupBlock> blocks_;
    std::vector<std::uint32_t> molecules_;  // by group
    std::vector<std::size_t> at_work_;      // blocks between collect() and settle()
    static constexpr int cell_px = 32;
    static constexpr std::uint32_t none = UINT32_MAX;
    int columns_ = 1, rows_ = 1;
    struct Lit {
        std::uint32_t block, next;  // in lit_
    };
    std::vector<Lit> lit_;              // the blocks whose light reaches into each cell
    std::vector<std::uint32_t> cells_;  // the first of each; or none
    std::vector<std::uint32_t> near_;
    std::uint32_t look_ = 0;           // of blocks_near()
    std::vector<float> known_before_;  // of the block at hand
    JointFit stays_;                   // of molecules_of()
};

}  // namespace glint
