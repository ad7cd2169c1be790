#include "studio/report/experiment_table.h"

#include "bdc/base/error.h"
#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

/// A value of the file and where it stands.
struct Place {
  const Json& value;
  std::string file, where;

  [[noreturn]] void fail(const std::string& expected) const {
    throw DataError(file + ": " + (where.empty() ? "" : where + ": ") + "expected " + expected + ", found " +
                    type_of(value));
  }
  void require(bool fits, const std::string& expected) const {
    if (!fits) fail(expected);
  }
  [[nodiscard]] Place member(const std::string& key) const {
    static const Json nothing;
    return {value.contains(key) ? value[key] : nothing, file, where + "/" + key};
  }
};

void check_number(const Place& number) {
  number.require(number.value.is_object(), "an object with mean and values");
  const Place mean = number.member("mean"), deviation = number.member("deviation"), values = number.member("values");
  mean.require(mean.value.is_number(), "a number");
  deviation.require(deviation.value.is_number() || deviation.value.is_null(), "a number");
  values.require(values.value.is_array(), "a list of numbers");
  for (std::size_t n = 0; n < values.value.size(); ++n) {
    const Place one{values.value[n], values.file, values.where + "/" + std::to_string(n)};
    one.require(one.value.is_number(), "a number");
  }
}

void check_row(const Place& row) {
  row.require(row.value.is_object(), "an object");
  for (const char* key : {"data", "crowd", "detector", "method"}) {
    row.member(key).require(row.member(key).value.is_string(), "a name");
  }
  row.member("done").require(row.member("done").value.is_number_integer(), "a whole number");
  const Place numbers = row.member("numbers");
  if (numbers.value.is_null()) return;  // no cell of the row is done
  numbers.require(numbers.value.is_object(), "an object");
  for (const auto& [name, value] : numbers.value.items())
    check_number({value, numbers.file, numbers.where + "/" + name});
}

}  // namespace

Json read_experiment_table(const std::filesystem::path& file) {
  Json table;
  try {
    table = read_json_file(file);
  } catch (const UserError& e) {
    throw DataError(std::string(e.what()) + "; run the experiment again to rebuild its table");
  }
  const Place top{table, file.string(), ""};
  top.require(table.is_object(), "an object");
  top.member("format").require(top.member("format").value == "bdc_experiment", "\"bdc_experiment\"");
  top.member("version").require(top.member("version").value == 1, "version 1, which this program reads");
  const Place rows = top.member("rows");
  rows.require(rows.value.is_array(), "a list of rows");
  for (std::size_t n = 0; n < rows.value.size(); ++n)
    check_row({rows.value[n], rows.file, rows.where + "/" + std::to_string(n)});
  return table;
}

}  // namespace bdc::host
