#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"

namespace bdc {

/// A title on one line: spreadsheets break long ones.
[[nodiscard]] std::string title_of(std::string_view field);

/// What the columns of a table of boxes hold: by common titles, or as the user named them ("image=photo,x1=left").
class TableHeading {
 public:
  /// Of the reader's current row. Throws DataError when a column that is named is not there.
  TableHeading(const CsvReader& csv, const std::string& columns);

  [[nodiscard]] bool is_complete() const { return has("image") && has("class") && sides_ != Sides::none; }
  /// Throws DataError, with what to do, for a column that is not there and for two that may be the same.
  void require_complete() const;

  [[nodiscard]] bool has(const std::string& role) const { return column_.count(role) > 0; }
  [[nodiscard]] std::size_t at(const std::string& role) const { return column_.at(role); }
  /// The title of a role's column as it stands in the table.
  [[nodiscard]] std::string title(const std::string& role) const { return titles_[column_.at(role)]; }
  /// A column that is not used and may say who drew; empty when there is none, or annotators have a column.
  [[nodiscard]] std::string person_column() const;
  /// The roles of the four numbers of a box.
  [[nodiscard]] const std::array<const char*, 4>& sides() const;
  /// Numbers in the order of sides() become x1, y1, x2, y2.
  void make_corners(std::array<double, 4>& number) const;
  [[nodiscard]] bool by_corners() const { return sides_ == Sides::corners; }
  [[nodiscard]] bool relative() const { return relative_; }
  [[nodiscard]] bool unit_given() const { return unit_given_ || relative_; }
  /// "width" and "height" may as well be the box's as the image's: its values must tell.
  [[nodiscard]] bool sizes_are_doubtful() const;

 private:
  enum class Sides { none, corners, extents, centre };

  template <class IsTitle>
  void find_roles(const IsTitle& is_title);
  void begin_at_zero();
  void tell_extents_apart();
  void move(const std::string& from, const std::string& to);
  [[nodiscard]] std::size_t find_key(const std::string& key) const;
  [[nodiscard]] bool is_given(const std::string& role) const { return given_.count(role) > 0; }
  [[nodiscard]] bool has_all(const std::array<const char*, 4>& roles) const;
  void read_options(const CsvReader& csv, const std::string& columns);

  std::string file_;
  std::size_t line_;
  std::vector<std::string> titles_;  ///< of all columns
  std::map<std::string, std::size_t> column_;
  std::map<std::string, std::string> given_, repeated_;
  Sides sides_ = Sides::none;
  bool relative_ = false, unit_given_ = false;
};

/// Goes to the heading of a table: the first row that is no remark (# ...). False: there is none.
[[nodiscard]] bool next_heading(CsvReader& csv, const std::string& columns);

}  // namespace bdc
