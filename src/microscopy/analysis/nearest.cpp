// A k-d tree. A node is split at the median along the longest edge of its box. The nearest box is searched first.
// SPDX-License-Identifier: MIT
#include "analysis/points.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace glint {
namespace {

constexpr std::size_t leaf_size = 8;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double Point::*axes[] = {&Point::x_nm, &Point::y_nm, &Point::z_nm};

}  // namespace

Nearest::Nearest(std::span<const Point> points) {
    entries_.reserve(points.size());
    for (std::size_t k = 0; k < points.size(); ++k)
        if (is_finite(points[k])) entries_.push_back({points[k], k});
    nodes_.reserve(4 * entries_.size() / leaf_size + 1);  // leaves are at least half full
    if (!entries_.empty()) add_node(0, entries_.size());
}

void Nearest::add_node(std::size_t begin, std::size_t end) {
    Node node{entries_[begin].at, entries_[begin].at, begin, end};
    for (std::size_t k = begin + 1; k < end; ++k)
        for (const auto axis : axes) {
            node.low.*axis = std::min(node.low.*axis, entries_[k].at.*axis);
            node.high.*axis = std::max(node.high.*axis, entries_[k].at.*axis);
        }
    const std::size_t here = nodes_.size();
    nodes_.push_back(node);
    if (end - begin <= leaf_size) return;

    const auto edge = [&](double Point::*axis) { return node.high.*axis - node.low.*axis; };
    const auto longest =
        *std::max_element(std::begin(axes), std::end(axes), [&](auto a, auto b) { return edge(a) < edge(b); });
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t k) { return entries_.begin() + std::ptrdiff_t(k); };
    std::nth_element(at(begin), at(middle), at(end),
                     [&](const Entry& a, const Entry& b) { return a.at.*longest < b.at.*longest; });
    add_node(begin, middle);
    nodes_[here].second = nodes_.size();
    add_node(middle, end);
}

/// Returns the squared distance from a point to the box, or 0 inside the box.
double Nearest::Node::squared(const Point& p) const {
    double sum = 0;
    for (const auto axis : axes) {
        const double beyond = std::max({low.*axis - p.*axis, p.*axis - high.*axis, 0.0});
        sum += beyond * beyond;
    }
    return sum;
}

void Nearest::look(const Node& node, const Point& p, std::size_t except, double& best) const {
    if (node.second == 0) {
        for (std::size_t k = node.begin; k < node.end; ++k)
            if (entries_[k].index != except) best = std::min(best, squared_distance(p, entries_[k].at));
        return;
    }
    const Node *near = &node + 1, *far = &nodes_[node.second];
    double to_near = near->squared(p), to_far = far->squared(p);
    if (to_far < to_near) std::swap(near, far), std::swap(to_near, to_far);
    if (to_near < best) look(*near, p, except, best);
    if (to_far < best) look(*far, p, except, best);
}

double Nearest::squared(const Point& p, std::size_t except) const {
    double best = infinity;
    if (!nodes_.empty() && is_finite(p)) look(nodes_.front(), p, except, best);
    return best;
}

std::vector<Point> distinct(std::span<const Point> points) {
    std::vector<Point> out;
    std::copy_if(points.begin(), points.end(), std::back_inserter(out), is_finite);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace glint
