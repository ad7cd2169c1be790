#include <gtest/gtest.h>

#include <sstream>

#include "bdc/base/nearest.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

TEST(Nearest, FindsASlipAndIgnoresTheUnrelated) {
  EXPECT_EQ(nearest("epoch", {"seed", "epochs", "threads"}), "epochs");
  EXPECT_EQ(nearest("trian", {"train", "data"}), "train");
  EXPECT_EQ(nearest("bcd", {"na", "bdc", "wbf"}), "bdc") << "two letters swapped are one slip";
  EXPECT_EQ(nearest("zzzzzz", {"train", "data"}), "");
  EXPECT_EQ(nearest("", {}), "");
  EXPECT_EQ(did_you_mean("zzzzzz", {"a", "b"}), "; known: a, b");
}

TEST(Nearest, BeginningsPartsAndInitialsCountAsNear) {
  const std::vector<std::string> keys = {"epochs", "batch_size", "learning_rate", "weight_decay", "patience", "match"};
  EXPECT_EQ(nearest("batch_siz", keys), "batch_size");
  EXPECT_EQ(nearest("BATCH", {"batch_size", "patience"}), "batch_size");
  EXPECT_EQ(nearest("batch", keys), "match") << "one slip is nearer than a half-written name";
  EXPECT_EQ(nearest("batch", {"patience", "batch_size"}), "batch_size");
  EXPECT_EQ(nearest("rate", keys), "learning_rate");
  EXPECT_EQ(nearest("decay", keys), "weight_decay");
  EXPECT_EQ(nearest("epochs_total", keys), "epochs");
  EXPECT_EQ(nearest("lr", keys), "learning_rate");
  EXPECT_EQ(nearest("--out", {"--quiet", "--output"}), "--output");
  EXPECT_EQ(nearest("a", {"alpha", "beta"}), "") << "one letter is part of everything";
}

TEST(Printable, ControlCharactersNeverReachTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(printable(std::string(300, 'x'), 5), "xxxxx...");
}

TEST(Table, ColumnsLineUpAlsoWithAccents) {
  Table table({"name", "n"});
  table.align_right(1);
  table.add({"é", "1"});
  table.add({"abc", "22"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "name   n\n--------\né      1\nabc   22\n");
  EXPECT_THROW(table.add({"only one"}), std::logic_error);
}

}  // namespace
}  // namespace bdc
