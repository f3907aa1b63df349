// Manual pages in roff, for man.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/completion/command_tree.hpp"

namespace glint::cli {
namespace {

/// Escapes text for roff: keeps hyphens as typed, and keeps lines from being requests.
std::string roff(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool begins = out.empty() || out.back() == '\n';
        if (begins && (c == '.' || c == '\'')) out += "\\&";
        switch (c) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '\'': out += "\\(aq"; break;
            case '`': out += "\\(ga"; break;
            case '^': out += "\\(ha"; break;
            case '~': out += "\\(ti"; break;
            default: out += c;
        }
    }
    return out;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::toupper(c)); });
    return text;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::string verbatim(const std::vector<std::string>& lines) {
    std::string out = ".PP\n.nf\n";
    for (const std::string& line : lines) out += roff(line) + "\n";
    return out + ".fi\n";
}

/// Returns a paragraph of the footer. Lines in columns stay unchanged.
std::string paragraph(std::vector<std::string> lines) {
    if (lines.front() == "Examples:") {
        lines.erase(lines.begin());
        return ".SH EXAMPLES\n" + verbatim(lines).substr(4) + ".SH NOTES\n";
    }
    if (std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line.find("  ") != line.npos; }))
        return verbatim(lines);
    std::string out = ".PP\n";
    for (const std::string& line : lines) out += roff(line) + "\n";
    return out;
}

std::string footer(const std::string& text) {
    std::string out;
    std::vector<std::string> lines;
    const auto end_paragraph = [&] {
        if (!lines.empty()) out += paragraph(lines);
        lines.clear();
    };
    for (const std::string& line : lines_of(text)) line.empty() ? end_paragraph() : lines.push_back(line);
    end_paragraph();
    const std::string notes = ".SH NOTES\n";
    if (out.ends_with(notes)) out.resize(out.size() - notes.size());
    return out.starts_with(".SH") || out.empty() ? out : notes + out;
}

std::string described(const FlagFacts& flag, bool argument) {
    std::string names;
    for (const std::string& name : flag.names)
        names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
    std::string text = ".TP\n" + names;
    if (!argument && !flag.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(flag.value));
    if (flag.several) text += " ...";
    text += "\n" + roff(flag.about.empty() ? "No description." : flag.about);
    if (!flag.usual.empty()) text += fmt::format(" (default: {})", roff(flag.usual));
    if (flag.required) text += " (required)";
    return text + "\n";
}

std::string options(const CommandFacts& command) {
    std::vector<std::string> groups;
    for (const FlagFacts& flag : command.flags)
        if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) groups.push_back(flag.group);
    std::string text;
    for (const std::string& group : groups) {
        text += group == "Options" ? ".SH OPTIONS\n" : fmt::format(".SS \"{}\"\n", roff(group));
        for (const FlagFacts& flag : command.flags)
            if (flag.group == group) text += described(flag, false);
    }
    return text;
}

std::string commands(const CommandFacts& command) {
    std::string text, group;
    if (!command.commands.empty()) text = ".SH COMMANDS\n";
    for (const CommandFacts& below : command.commands) {
        if (below.group != group) text += fmt::format(".SS \"{}\"\n", roff(group = below.group));
        text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(below.name), roff(below.about));
    }
    return text;
}

std::string synopsis(const CommandFacts& command, const CommandFacts& program) {
    std::string text = fmt::format(".SH SYNOPSIS\n\\fB{}{}\\fR", roff(program.name),
                                   command.path.empty() ? "" : " " + roff(command.path));
    if (!command.commands.empty()) text += " \\fICOMMAND\\fR";
    for (const FlagFacts& argument : command.arguments)
        text += fmt::format(fmt::runtime(argument.required ? " \\fI{}\\fR" : " [\\fI{}\\fR]"),
                            roff(upper(argument.names.front())) + (argument.several ? "..." : ""));
    text += " [\\fIoptions\\fR]";
    return text + (command.runs_program ? " \\-\\- \\fIPROGRAM\\fR ...\n" : "\n");
}

std::string see_also(const CommandFacts& command, const CommandFacts& program) {
    std::string text;
    for (const CommandFacts* other : all_commands(program))
        if (other != &command && (command.path.empty() || other->path.empty()))
            text += fmt::format("{}\\fB{}\\fR(1)", text.empty() ? "" : ",\n", roff(page_name(*other, program)));
    return ".SH \"SEE ALSO\"\n" + text + "\n";
}

}  // namespace

std::string page_name(const CommandFacts& command, const CommandFacts& program) {
    std::string name = command.path;
    std::replace(name.begin(), name.end(), ' ', '-');
    return name.empty() ? program.name : program.name + "-" + name;
}

std::string manual_page(const CommandFacts& command, const CommandFacts& program, const std::string& version) {
    const std::string name = page_name(command, program);
    std::string text = fmt::format(".TH \"{}\" 1 \"\" \"{} {}\" \"User Commands\"\n", roff(upper(name)),
                                   roff(program.name), roff(version));
    text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.about));
    text += synopsis(command, program) + commands(command);
    if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
    for (const FlagFacts& argument : command.arguments) text += described(argument, true);
    return text + options(command) + footer(command.footer) + see_also(command, program);
}

}  // namespace glint::cli
