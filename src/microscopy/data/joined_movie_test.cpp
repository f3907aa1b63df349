// Joined movies whose metadata contain equal camera values, different ones or none.
// SPDX-License-Identifier: MIT
#include "data/joined_movie.hpp"

#include <gtest/gtest.h>

namespace glint {
namespace {

/// A movie that consists only of its metadata.
class Described : public Movie {
  public:
    explicit Described(MovieInfo info) : info_(std::move(info)) {}
    const MovieInfo& info() const override { return info_; }
    void read(std::int64_t, int, FrameBlock&) override { FAIL(); }

  private:
    MovieInfo info_;
};

MovieInfo of_gain(const std::string& name, std::optional<double> gain) {
    MovieInfo info;
    info.name = name, info.width = info.height = 8, info.frames = 2;
    info.gain_e_per_adu = gain, info.offset_adu = 100;
    return info;
}

MovieInfo joined_info(const std::vector<MovieInfo>& parts) {
    std::vector<std::unique_ptr<Movie>> movies;
    for (const MovieInfo& part : parts) movies.push_back(std::make_unique<Described>(part));
    return concatenate(std::move(movies), {})->info();
}

TEST(JoinedMovie, has_what_all_parts_say_alike) {
    const MovieInfo alike = joined_info({of_gain("a", 0.5), of_gain("b", 0.5001), of_gain("c", {})});
    EXPECT_EQ(alike.gain_e_per_adu, 0.5);
    EXPECT_TRUE(alike.contradictions.empty() && alike.warnings.empty());
}

TEST(JoinedMovie, does_not_know_what_parts_contradict) {
    const MovieInfo joined = joined_info({of_gain("a", 0.5), of_gain("b", 0.7), of_gain("c", 0.6)});
    EXPECT_EQ(joined.gain_e_per_adu, std::nullopt);
    EXPECT_EQ(joined.offset_adu, 100);
    EXPECT_EQ(joined.contradictions,
              (Contradictions{{"gain", "the metadata say 0.5 e-/ADU in a and 0.7 e-/ADU in b"}}));
    EXPECT_EQ(
        joined.warnings,
        std::vector<std::string>{"gain: the metadata say 0.5 e-/ADU in a and 0.7 e-/ADU in b: none of these is taken"});
}

TEST(JoinedMovie, does_not_know_what_the_files_of_one_part_contradict) {
    const MovieInfo inner = joined_info({of_gain("a", 0.5), of_gain("b", 0.7)});
    for (const auto& parts :
         {std::vector{inner, of_gain("c", 0.5)}, {of_gain("c", 0.5), inner}, {of_gain("c", {}), inner}}) {
        const MovieInfo joined = joined_info(parts);
        EXPECT_EQ(joined.gain_e_per_adu, std::nullopt);
        EXPECT_EQ(joined.contradictions, inner.contradictions);
        EXPECT_EQ(joined.warnings, inner.warnings);
    }
}

}  // namespace
}  // namespace glint
