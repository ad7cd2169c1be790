// The YOLOv7 plugin as the host sees it.

#include <gtest/gtest.h>

#include "support/run_program.h"

namespace {

using bdc::test::run_host;
using bdc::test::TemporaryFolder;

/// A name and the options it stands for.
using Variant = std::pair<std::string, std::vector<std::string>>;

const std::vector<Variant> kVariants = {{"full", {"variant=full"}},
                                        {"tiny", {"variant=tiny"}},
                                        {"plain", {"variant=tiny", "assigner=plain", "width=0.5", "depth=2"}}};

std::string name_of(const ::testing::TestParamInfo<Variant>& info) {
  return info.param.first;
}

class Yolov7Doctor : public ::testing::TestWithParam<Variant> {};

TEST_P(Yolov7Doctor, PassesEveryCheck) {
  const TemporaryFolder folder;
  std::vector<std::string> words = {"plugins", "doctor", "yolov7"};
  for (const auto& option : GetParam().second) words.insert(words.end(), {"-o", option});
  const auto outcome = run_host(words, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("16 of 16 checks passed"), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Variants, Yolov7Doctor, ::testing::ValuesIn(kVariants), name_of);

TEST(Yolov7Options, AnchorsThatAreNoEighteenNumbersAreNamed) {
  const TemporaryFolder folder;
  const auto outcome =
      run_host({"plugins", "doctor", "yolov7", "-o", "variant=tiny", "-o", "anchors=10,13,x"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("option 'anchors': expected numbers above 0, found 'x' (number 3)"), std::string::npos)
      << outcome.out;
}

}  // namespace
