#include <gtest/gtest.h>

#include <sstream>

#include "cli/verb.h"
#include "support/run_program.h"

namespace {

using bdc::test::run_host;

class Help : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Help, FitsAScreenAndHasAnExample) {
  auto words = GetParam();
  words.push_back("--help");
  const auto outcome = run_host(words, "/");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find(words.size() > 1 ? "Example" : "bdc-host --plugin"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("bdc-host"), std::string::npos);
  std::istringstream lines(outcome.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 110u) << line;
  EXPECT_LE(count, 40);
}

INSTANTIATE_TEST_SUITE_P(Verbs, Help,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"plugins", "list"},
                                         std::vector<std::string>{"plugins", "info"},
                                         std::vector<std::string>{"plugins", "doctor"},
                                         std::vector<std::string>{"convert", "weights"}));

#define BDC_VERB_WORDS(name) std::vector<std::string>{#name},
INSTANTIATE_TEST_SUITE_P(AllVerbs, Help,
                         testing::ValuesIn(std::vector<std::vector<std::string>>{BDC_VERBS(BDC_VERB_WORDS)}));
#undef BDC_VERB_WORDS

TEST(CommandLine, NothingAtAllPrintsHelpAndIsAUsageError) {
  const auto outcome = run_host({}, "/");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("train"), std::string::npos);
}

TEST(CommandLine, AnUnknownVerbIsAUsageError) {
  const auto outcome = run_host({"trian"}, "/");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--help"), std::string::npos);
}

TEST(CommandLine, HelpAfterAnUnknownVerbIsAUsageErrorToo) {
  for (const char* help : {"--help", "-h"}) {
    const auto outcome = run_host({"agregate", help}, "/");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("did you mean 'aggregate'?"), std::string::npos) << outcome.err;
  }
}

TEST(CommandLine, AMistypedVerbOrOptionGetsTheNearestOne) {
  const auto says = [](const std::vector<std::string>& words, const std::string& text) {
    const auto outcome = run_host(words, "/");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  says({"agregate", "crowd.json", "-o", "x.json"}, "bdc-host has no verb 'agregate'; did you mean 'aggregate'?");
  says({"plugins", "lst"}, "plugins has no verb 'lst'; did you mean 'list'?");
  says({"xyzzyxyzzy"}, "bdc-host has no verb 'xyzzyxyzzy'; known: train, val");
  says({"aggregate", "crowd.json", "--ouput", "x.json"}, "aggregate has no option '--ouput'; did you mean '--output'?");
  says({"eval", "a.json", "b.json", "--max-det=5"}, "eval has no option '--max-det'; did you mean '--max-dets'?");
  says({"--plugn", "minimal"}, "train has no option '--plugn'; did you mean '--plugin'?");
}

/// "--output", "--method", ...: options as help lists them, at the start of a line.
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> out;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("--");
    if (line.rfind("  -", 0) == 0 && at <= 5) out.push_back(line.substr(at, line.find_first_of(" ,", at) - at));
  }
  return out;
}

/// "--dry-run" as a manual page has it.
std::string in_manual(const std::string& option) {
  std::string out;
  for (const char c : option) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

TEST(Manual, HasEveryVerbWithEveryOption) {
  const auto manual = run_host({"--manual"}, "/");
  EXPECT_EQ(manual.exit_code, 0);
  EXPECT_EQ(manual.out.rfind(".TH ", 0), 0u);
#define BDC_VERB_NAME(name) #name,
  for (const std::string verb : {BDC_VERBS(BDC_VERB_NAME)}) {
#undef BDC_VERB_NAME
    const auto from = manual.out.find(".SS \"" + verb + "\"\n");
    ASSERT_NE(from, std::string::npos) << verb;
    const std::string page = manual.out.substr(from, manual.out.find("\n.SS \"", from + 1) - from);
    for (const std::string& option : options_in(run_host({verb, "--help"}, "/").out)) {
      EXPECT_NE(page.find(in_manual(option)), std::string::npos) << verb << " " << option;
    }
  }
}

/// What bash offers for the last of these words.
std::string completed(const std::string& words) {
  const auto outcome =
      bdc::test::run({"bash", "-c",
                      "source <(" BDC_HOST " --completion); COMP_WORDS=(bdc-host " + words +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bdc_host; echo \"${COMPREPLY[*]}\""},
                     "/");
  EXPECT_EQ(outcome.err, "");
  return outcome.out.empty() ? outcome.out : outcome.out.substr(0, outcome.out.size() - 1);
}

TEST(Completion, OffersVerbsThenTheirOptionsAndLeavesFilesToBash) {
  EXPECT_EQ(completed("agg"), "aggregate");
  EXPECT_EQ(completed("plugins do"), "doctor");
  EXPECT_EQ(completed("aggregate --output-f"), "--output-format");
  EXPECT_EQ(completed("aggregate crowd.json --min-"), "--min-existence --min-score");
  EXPECT_EQ(completed("aggregate --output cro"), "") << "the value of an option is a file";
  EXPECT_EQ(completed("aggregate cro"), "") << "so is an argument";
}

}  // namespace
