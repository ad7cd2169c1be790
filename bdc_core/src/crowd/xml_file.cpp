#include "crowd/xml_file.h"

#include <algorithm>
#include <fstream>
#include <istream>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/markup.h"
#include "bdc/base/text.h"

namespace bdc {

namespace {

/// The encoding that a file states and that is not read; empty: none.
std::string foreign_encoding(std::string_view text) {
  const std::string start = lower_case(text.substr(0, 200));
  const std::string_view declaration = std::string_view(start).substr(0, start.find("?>"));
  std::size_t at = declaration.find("encoding");
  if (declaration.find("<?xml") == std::string_view::npos || at == std::string_view::npos) return {};
  at = declaration.find_first_of("\"'", at);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = declaration.substr(at + 1);
  const std::string found(rest.substr(0, rest.find_first_of("\"'")));
  for (const char* known : {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1"}) {
    if (found == known) return {};
  }
  return found.rfind("utf-16", 0) == 0 || found.rfind("utf-32", 0) == 0 ? std::string() : found;
}

}  // namespace

XmlFile::XmlFile(std::istream& in, std::string name) : name_(std::move(name)) {
  text_ = read_all(in, name_, max_size);
  const bool ascii =
      std::all_of(text_.begin(), text_.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (const std::string encoding = ascii ? std::string() : foreign_encoding(text_); !encoding.empty()) {
    throw DataError(name_ + ":1: expected text in UTF-8, found the encoding " + in_quotes(encoding) +
                    "; save the file as UTF-8, with that in its first line");
  }
  if (trimmed(text_).empty()) throw DataError(name_ + ":1: expected XML, found an empty file");
  const pugi::xml_parse_result result = document_.load_buffer(text_.data(), text_.size());
  if (!result) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, result.offset));
    throw DataError(name_ + ":" + std::to_string(line_at(offset)) +
                    ": broken XML: " + lower_case(result.description()) + " (byte " + std::to_string(offset) + ")");
  }
  if (!root()) throw DataError(name_ + ":1: expected XML with an element, found none");
}

std::size_t XmlFile::line_at(std::size_t offset) {
  offset = std::min(offset, text_.size());
  if (offset < counted_offset_) {
    counted_offset_ = 0;
    counted_line_ = 1;
  }
  counted_line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_offset_),
                                                       text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
  counted_offset_ = offset;
  return counted_line_;
}

std::size_t XmlFile::line(const pugi::xml_node& node) {
  const std::ptrdiff_t offset = node.offset_debug();
  return line_at(offset < 0 ? 0 : static_cast<std::size_t>(offset));
}

void XmlFile::fail(const pugi::xml_node& node, const std::string& message) {
  throw DataError(name_ + ":" + std::to_string(line(node)) + ": " + message);
}

std::string xml_root_name(const std::string& path) {
  if (!is_regular_file(path)) return {};
  std::ifstream in = open_input(path);
  std::string head(std::size_t{1} << 16, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  std::string_view rest = head;
  if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
  rest = trimmed(rest);
  while (!rest.empty() && rest.front() == '<') {
    if (rest.substr(0, 4) == "<!--") {
      const std::size_t end = rest.find("-->");
      if (end == std::string_view::npos) return {};
      rest.remove_prefix(end + 3);
    } else if (rest.substr(0, 2) == "<?" || rest.substr(0, 2) == "<!") {
      const std::size_t end = rest.find('>');
      if (end == std::string_view::npos) return {};
      rest.remove_prefix(end + 1);
    } else {
      return std::string(rest.substr(1, rest.find_first_of(" \t\r\n/>", 1) - 1));
    }
    rest = trimmed(rest);
  }
  return {};
}

bool folder_has_xml_root(const std::string& folder, const std::string& name) {
  const std::vector<std::string> files = files_below(folder, {".xml"});
  for (std::size_t n = 0; n < files.size() && n < 50; ++n) {
    if (xml_root_name(files[n]) == name) return true;
  }
  return false;
}

std::string xml_escaped(const std::string& text, std::size_t* lost) {
  std::string out;
  bool replaced = false;
  for (const char c : text) {
    if (const std::string_view entity = markup_entity(c); !entity.empty()) {
      out += entity;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += "&#" + std::to_string(c) + ";";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += '?';
      replaced = true;
    } else {
      out += c;
    }
  }
  if (replaced && lost != nullptr) ++*lost;
  return out;
}

}  // namespace bdc
