#include "bdc/base/json_stream.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "bdc_core/crowd/io_support.h"

namespace {

using bdc::JsonReader;
using bdc::JsonWriter;
using bdc::test::error_of;

double read_number(const std::string& text) {
  std::istringstream in(text);
  JsonReader json(in, "f.json");
  const double value = json.number();
  json.finish();
  return value;
}

std::string read_string(const std::string& text) {
  std::istringstream in(text);
  JsonReader json(in, "f.json");
  const std::string value(json.string());
  json.finish();
  return value;
}

std::string skip_error(const std::string& text) {
  return error_of([&] {
    std::istringstream in(text);
    JsonReader json(in, "f.json");
    json.skip();
    json.finish();
  });
}

TEST(JsonReader, NumbersReadBackExactly) {
  EXPECT_EQ(read_number(" -0.5e3 "), -500);
  EXPECT_EQ(read_number("1e-400"), 0);
  EXPECT_EQ(read_number("0.1"), 0.1);
  EXPECT_EQ(read_number("9007199254740993"), 9007199254740992.0);
}

TEST(JsonReader, WholeNumbersKeepAll64Bits) {
  std::istringstream in("[9223372036854775807, -9223372036854775808, 3.0, 1e2]");
  JsonReader json(in, "f");
  json.begin_array();
  std::vector<std::int64_t> values;
  while (json.next_element()) values.push_back(json.integer());
  EXPECT_EQ(values, (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                               std::numeric_limits<std::int64_t>::min(), 3, 100}));
}

TEST(JsonReader, StringsDecodeEscapesAndSurrogatePairs) {
  EXPECT_EQ(read_string(R"("a\n\"\\\/\u00e4\ud83d\ude00")"), "a\n\"\\/\xC3\xA4\xF0\x9F\x98\x80");
}

TEST(JsonReader, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(read_string("\xEF\xBB\xBF\"x\""), "x");
}

TEST(JsonReader, BrokenTextSaysWhereAndWhat) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "expected JSON, found an empty file"},
      {"[1, 2", "the file ends too early: expected ',' or ']'"},
      {"[1,]", "expected a value after ','"},
      {"[1 2]", "expected ',' or ']', found the number 2"},
      {"{\"a\" 1}", "expected ':' after a member's name"},
      {"{a: 1}", "expected a member's name in double quotes"},
      {"{\"a\": tru}", "expected true"},
      {"[01]", "expected a number, found 01"},
      {"[1.]", "expected a number, found 1."},
      {"[--1]", "expected a number, found --1"},
      {"[\"a\x01\"]", "control character (code 1)"},
      {"[\"\\q\"]", "unknown escape"},
      {"[\"\\ud800x\"]", "first half of a surrogate pair alone"},
      {"[\"\xC3(\"]", "not valid UTF-8"},
      {"[\"\xED\xA0\x80\"]", "not valid UTF-8"},
      {"[\"abc", "ends inside a string"},
      {"[1] x", "expected the end of the file"},
      {"\xFF\xFE[\0", "UTF-16"},
      {"[" + std::string(500, '7') + "]", "longer than 400 characters"},
      {std::string(100000, '['), "nested deeper than 128 levels"},
      {"@", "expected a JSON value"},
  };
  for (const auto& [text, message] : cases) {
    const std::string error = skip_error(text);
    EXPECT_NE(error.find(message), std::string::npos) << text.substr(0, 40) << " -> " << error;
    EXPECT_EQ(error.rfind("f.json:1: ", 0), 0U) << error;
  }
}

TEST(JsonReader, AWrongValueNamesLinePathAndByte) {
  std::istringstream in("{\"annotations\": [\n{\"bbox\": [1, \"2\"]}]}");
  JsonReader json(in, "f.json");
  const std::string error = error_of([&] {
    json.begin_object();
    while (json.next_member()) {
      json.begin_array();
      while (json.next_element()) {
        json.begin_object();
        while (json.next_member()) {
          json.begin_array();
          while (json.next_element()) static_cast<void>(json.number());
        }
      }
    }
  });
  EXPECT_EQ(error, "f.json:2: annotations[0].bbox[1]: expected a number, found the string \"2\" (byte 31)");
}

TEST(JsonReader, NumberRefusesNaNAndTooLarge) {
  EXPECT_NE(error_of([] { read_number("NaN"); }).find("expected a finite number, found nan"), std::string::npos);
  EXPECT_NE(error_of([] { read_number("1e999"); }).find("is too large"), std::string::npos);
}

TEST(JsonReader, GoesOnAfterABadRecord) {
  std::istringstream in(R"([{"a": 1}, {"a": [[{"x": "y"}], 5], "b": 2}, {"a": 3}])");
  JsonReader json(in, "f");
  std::vector<double> values;
  int bad = 0;
  json.begin_array();
  const std::size_t depth = json.depth();
  while (json.next_element()) {
    try {
      json.begin_object();
      while (json.next_member()) values.push_back(json.number());
    } catch (const bdc::JsonValueError&) {
      ++bad;
      json.recover(depth);
    }
  }
  json.finish();
  EXPECT_EQ(values, (std::vector<double>{1, 3}));
  EXPECT_EQ(bad, 1);
}

TEST(JsonReader, TokensMayLieAcrossTheBuffersEnd) {
  // The buffer is 64 KiB: every alignment of a number, a string and an escape around its end.
  for (std::size_t shift = 0; shift < 40; ++shift) {
    const std::string text = std::string((1 << 16) - shift, ' ') + R"([123.456,"abc\u00e4def",true])";
    std::istringstream in(text);
    JsonReader json(in, "f");
    json.begin_array();
    ASSERT_TRUE(json.next_element());
    EXPECT_EQ(json.number(), 123.456);
    ASSERT_TRUE(json.next_element());
    EXPECT_EQ(json.string(),
              "abc\xC3\xA4"
              "def");
    ASSERT_TRUE(json.next_element());
    EXPECT_TRUE(json.boolean());
    EXPECT_FALSE(json.next_element());
    json.finish();
  }
}

TEST(JsonWriter, EveryDoubleReadsBackToTheSameBits) {
  std::mt19937_64 random(5);
  std::ostringstream out;
  std::vector<double> values{0.0, -0.0, 0.1, 1e300, 5e-324, 1.0 / 3};
  while (values.size() < 5000) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isfinite(value)) values.push_back(value);
  }
  {
    JsonWriter json(out);
    json.begin_array();
    for (const double value : values) json.number(value);
    json.end_array();
  }
  std::istringstream in(out.str());
  JsonReader json(in, "f");
  json.begin_array();
  for (const double value : values) {
    ASSERT_TRUE(json.next_element());
    EXPECT_EQ(json.number(), value);
  }
}

TEST(JsonWriter, StringsReadBackAndInvalidBytesAreReplaced) {
  const std::string text = "tab\t quote\" back\\ \x01 \xC3\xA4" + std::string(1, '\0');
  std::ostringstream out;
  { JsonWriter(out).string(text); }
  EXPECT_EQ(read_string(out.str()), text);
  std::ostringstream bad;
  { JsonWriter(bad).string("a\xFFz"); }
  EXPECT_EQ(read_string(bad.str()), "a\xEF\xBF\xBDz");
}

TEST(JsonWriter, RefusesWhatJsonCannotHold) {
  std::ostringstream out;
  JsonWriter json(out);
  EXPECT_THROW(json.number(std::nan("")), std::invalid_argument);
}

}  // namespace
