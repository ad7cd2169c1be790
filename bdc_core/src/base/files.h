#pragma once

#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace bdc {

// A zip archive is a folder to all of these, and what it holds are files and folders (base/zip_folder.h).

/// Throws DataError unless a file or folder of that name exists.
void require_exists(const std::string& path);
/// Throws DataError, with the reason, unless the file can be read.
[[nodiscard]] std::ifstream open_input(const std::string& path);
/// The whole of a stream. Throws DataError beyond `limit` bytes.
[[nodiscard]] std::string read_all(std::istream& in, const std::string& name, std::size_t limit);
/// False for folders, devices and what does not exist.
[[nodiscard]] bool is_regular_file(const std::string& path);
[[nodiscard]] bool is_folder(const std::string& path);

/// "alice" of "crowd/alice.json".
[[nodiscard]] std::string file_stem(std::string_view path);
/// "crowd/alice" of "crowd/alice.json".
[[nodiscard]] std::string without_extension(std::string_view path);
/// "crowd" of "data/crowd/alice.json"; of "alice.json" the name of the current folder.
[[nodiscard]] std::string parent_name(const std::string& path);
/// "crowd" of "data/crowd/".
[[nodiscard]] std::string folder_name(const std::string& path);
/// The path of an entry of a folder.
[[nodiscard]] std::string join(const std::string& folder, const std::string& entry);

/// Files below a folder whose names end in one of `extensions` (lower case, with the dot; none: all files), in the
/// order of their paths. Hidden ones are left out; folders behind links are read where the link stands, once; links to
/// nothing are listed.
[[nodiscard]] std::vector<std::string> files_below(const std::string& folder,
                                                   std::initializer_list<std::string_view> extensions);
/// The same, without those in folders of the folder.
[[nodiscard]] std::vector<std::string> files_in(const std::string& folder,
                                                std::initializer_list<std::string_view> extensions);
/// Folders of a folder, in the order of their names. Hidden ones are left out.
[[nodiscard]] std::vector<std::string> folders_in(const std::string& folder);

/// Text without the byte order mark of UTF-8 in front.
[[nodiscard]] inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.substr(0, 3) == "\xEF\xBB\xBF" ? text.substr(3) : text;
}

/// The first character of a text that is not blank, which stays to be read; a byte order mark of UTF-8 is passed over.
[[nodiscard]] int first_character(std::istream& in);

/// Any text as a name of a file or folder: a slash, backslash, percent sign, control character and a leading dot become
/// %XX. from_file_name undoes that, and changes no other text.
[[nodiscard]] std::string to_file_name(std::string_view text);
[[nodiscard]] std::string from_file_name(std::string_view name);

}  // namespace bdc
