#include "bdc/base/options.h"

#include <gtest/gtest.h>

namespace {

using namespace bdc;

const std::vector<OptionSpec>& schema() {
  static const std::vector<OptionSpec> all{
      bool_option("flip", true, ""), int_option("width", 16, "", 4, 256),        number_option("share", 0.1, "", 0, 1),
      number_option("any", 0, ""),   string_option("rule", "a", "", {"a", "b"}), string_option("name", "", "")};
  return all;
}

template <class Work>
std::string message(const Work& work) {
  try {
    (void)work();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no error";
}

std::string checked(const std::string& name, const OptionValue& value) {
  return message([&] { return check_options(schema(), {{name, value}}, "file"); });
}

std::string parsed(const std::string& name, const std::string& text) {
  return message([&] { return parse_options(schema(), {{name, text}}, "wbf"); });
}

TEST(Options, DefaultsStandWhereNothingIsGiven) {
  for (const Options& options : {check_options(schema(), {}, "file"), parse_options(schema(), {}, "wbf")}) {
    EXPECT_TRUE(options.get_bool("flip"));
    EXPECT_EQ(options.get_int("width"), 16);
    EXPECT_EQ(options.get_number("share"), 0.1);
    EXPECT_EQ(options.get_string("rule"), "a");
  }
}

TEST(Options, ValuesWithATypeAreCheckedAgainstTheSpec) {
  EXPECT_EQ(checked("width", std::int64_t{1}), "file.width: expected a whole number from 4 to 256, found the number 1");
  EXPECT_EQ(checked("width", 2.5), "file.width: expected a whole number from 4 to 256, found the number 2.5");
  EXPECT_EQ(checked("width", std::string("wide")),
            "file.width: expected a whole number from 4 to 256, found the string \"wide\"");
  EXPECT_EQ(checked("share", 1.5), "file.share: expected a number from 0 to 1, found the number 1.5");
  EXPECT_EQ(checked("share", true), "file.share: expected a number from 0 to 1, found true");
  EXPECT_EQ(checked("flip", 1.0), "file.flip: expected true or false, found the number 1");
  EXPECT_EQ(checked("rule", std::string("c")), "file.rule: expected one of a, b, found the string \"c\"");
  EXPECT_EQ(checked("widht", 1.0), "file.widht: unknown option; did you mean 'width'?");
  EXPECT_EQ(checked("share", std::int64_t{1}), "no error") << "a whole number is a number";
  EXPECT_EQ(check_options(schema(), {{"share", std::int64_t{1}}}, "").get_number("share"), 1.0);
}

TEST(Options, RangesAreWrittenOutAndAnEmptyChoiceIsShown) {
  EXPECT_EQ(expected_value(int_option("n", 1, "", 1, 1e6)), "a whole number from 1 to 1000000");
  EXPECT_EQ(range_text(number_option("x", 1, "", 0, 1e6)), "0 .. 1000000");
  const OptionSpec split = string_option("split", "", "", {"", "train", "val"});
  EXPECT_EQ(why_text_refused(split, "foo"), "expected one of \"\", train, val, found the string \"foo\"");
  EXPECT_EQ(range_text(split), "\"\" | train | val");
  EXPECT_EQ(why_text_refused(string_option("kind", "", "", {"alpha", "beta", "gamma", "delta"}), "bta"),
            "expected one of alpha, beta, gamma, delta, found the string \"bta\"; did you mean 'beta'?");
  EXPECT_EQ(why_text_refused(int_option("n", 1, "", 1, 3), "2"), "");
}

TEST(Options, ThePlaceOfAnOptionOnTheCommandLineIsItsFlag) {
  EXPECT_EQ(message([] {
              return parse_options(schema(), {{"width", "2"}}, "--option");
            }),
            "--option width: expected a whole number from 4 to 256, found the number 2");
  EXPECT_EQ(message([] {
              return parse_options(schema(), {{"widht", "2"}}, "--option");
            }),
            "--option widht: unknown option; did you mean 'width'?");
}

TEST(Options, TextIsParsedByTheTypeOfTheDefault) {
  const Options options = parse_options(
      schema(), {{"flip", "false"}, {"width", "1e2"}, {"share", "0.5"}, {"rule", "b"}, {"name", "7"}}, "wbf");
  EXPECT_FALSE(options.get_bool("flip"));
  EXPECT_EQ(options.get_int("width"), 100);
  EXPECT_EQ(options.get_number("share"), 0.5);
  EXPECT_EQ(options.get_string("rule"), "b");
  EXPECT_EQ(options.get_string("name"), "7");
  EXPECT_EQ(parsed("width", "2.5"), "wbf.width: expected a whole number from 4 to 256, found the number 2.5");
  EXPECT_EQ(parsed("width", "2"), "wbf.width: expected a whole number from 4 to 256, found the number 2");
  EXPECT_EQ(parsed("width", "1e300"), "wbf.width: expected a whole number from 4 to 256, found the number 1e+300");
  EXPECT_EQ(parsed("share", "2"), "wbf.share: expected a number from 0 to 1, found the number 2");
  EXPECT_EQ(parsed("share", "half"), "wbf.share: expected a number from 0 to 1, found the string \"half\"");
  EXPECT_EQ(parsed("any", "nan"), "wbf.any: expected a finite number, found the number nan");
  EXPECT_EQ(parsed("flip", "yes"), "wbf.flip: expected true or false, found the string \"yes\"");
  EXPECT_EQ(parsed("rule", "c"), "wbf.rule: expected one of a, b, found the string \"c\"");
  EXPECT_EQ(parsed("widht", "1"), "wbf.widht: unknown option; did you mean 'width'?");
}

TEST(Options, TextOfAValueReadsBackAsTheSameValue) {
  for (const double x : {0.1, 1e-6, 1.0 / 3, 12345678.9, 5.0}) {
    EXPECT_EQ(std::get<double>(parse_option(number_option("x", 0, ""), option_text(x), "x")), x);
  }
  EXPECT_EQ(option_text(0.0001), "0.0001");
  EXPECT_EQ(option_text(1e6), "1000000");
  EXPECT_EQ(option_text(true), "true");
}

TEST(Options, AskingForWhatIsNotThereIsAMistakeOfTheProgram) {
  const Options options = parse_options(schema(), {}, "wbf");
  EXPECT_THROW((void)options.get_int("height"), std::logic_error);
  EXPECT_THROW((void)options.get_int("share"), std::logic_error);
}

}  // namespace
