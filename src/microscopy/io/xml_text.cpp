// Visits the elements of XML.
// SPDX-License-Identifier: MIT
#include "io/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>

#include "glint/error.hpp"

namespace glint {
namespace {

constexpr std::ptrdiff_t max_nodes = std::ptrdiff_t(1) << 24;  // of 64 bytes or so; a million planes have half as many
constexpr int deepest_element = 64;

struct Visitor : pugi::xml_tree_walker {
    const std::function<void(const pugi::xml_node&)>* visit = nullptr;
    bool for_each(pugi::xml_node& node) override {
        if (node.type() == pugi::node_element && depth() < deepest_element) (*visit)(node);
        return true;
    }
};

}  // namespace

void for_each_element(std::string_view xml, const std::string& name,
                      const std::function<void(const pugi::xml_node&)>& visit) {
    const auto nodes = std::count_if(xml.begin(), xml.end(), [](char c) { return c == '<' || c == '='; });
    if (nodes > max_nodes)
        throw InputError(
            fmt::format("{}: its XML metadata have {} tags and attributes, more than {}: save the movie "
                        "without them, or in several files",
                        name, nodes, max_nodes));
    pugi::xml_document document;
    // An error in the text ends the document; the elements before it are visited.
    if (document.load_buffer(xml.data(), xml.size()).status == pugi::status_out_of_memory) throw std::bad_alloc();
    Visitor visitor;
    visitor.visit = &visit;
    document.traverse(visitor);
}

std::string_view local_name(const pugi::xml_node& element) {
    const std::string_view name = element.name();
    const auto colon = name.find(':');
    return colon == name.npos ? name : name.substr(colon + 1);
}

bool is_within(const pugi::xml_node& element, std::string_view name) {
    for (pugi::xml_node around = element.parent(); around; around = around.parent())
        if (local_name(around) == name) return true;
    return false;
}

}  // namespace glint
