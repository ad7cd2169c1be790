#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <pugixml.hpp>
#include <string>

namespace bdc {

/// An XML file as a tree, with line numbers. At most 1 GiB. Document types and entities other than the five predefined
/// ones are not processed, so a file cannot refer to others or expand. Throws DataError "file:line: ..." when broken.
class XmlFile {
 public:
  static constexpr std::size_t max_size = std::size_t{1} << 30;

  XmlFile(std::istream& in, std::string name);

  [[nodiscard]] pugi::xml_node root() const { return document_.document_element(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Line of a node, from 1. Quick when asked in the order of the file.
  [[nodiscard]] std::size_t line(const pugi::xml_node& node);
  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& message);

 private:
  [[nodiscard]] std::size_t line_at(std::size_t offset);

  std::string name_, text_;
  pugi::xml_document document_;
  std::size_t counted_offset_ = 0, counted_line_ = 1;
};

/// Name of the outermost element of a file, from its first 64 KiB; empty when it does not look like XML.
[[nodiscard]] std::string xml_root_name(const std::string& path);

/// Whether one of the first XML files below a folder has this outermost element.
[[nodiscard]] bool folder_has_xml_root(const std::string& folder, const std::string& name);

/// Text for an XML element or attribute; characters that XML cannot hold become '?', and `lost` counts such texts.
[[nodiscard]] std::string xml_escaped(const std::string& text, std::size_t* lost = nullptr);

}  // namespace bdc
