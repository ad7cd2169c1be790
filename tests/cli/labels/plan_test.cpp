// Who should look at what next, through the front door.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

/// Forty images, each seen by two of four people; "zoe" draws badly and often nothing.
json crowd() {
  json out = {
      {"images", json::array()},
      {"categories", {{{"id", 1}, {"name", "cat"}}, {{"id", 2}, {"name", "dog"}}}},
      {"annotators", {{{"id", "ann"}}, {{"id", "bob"}}, {{"id", "cid"}, {"name", "Cid, the third"}}, {{"id", "zoe"}}}},
      {"annotations", json::array()},
      {"assignments", json::array()}};
  const std::vector<std::string> people{"ann", "bob", "cid", "zoe"};
  int id = 1;
  for (int i = 0; i < 40; ++i) {
    out["images"].push_back({{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 200}, {"height", 100}});
    const double x = 10.0 + 3 * i, y = 20.0 + i % 7;
    for (const int k : {i % 4, (i + 1 + i / 4 % 3) % 4}) {
      out["assignments"].push_back({{"image_id", i}, {"annotator_id", people[static_cast<std::size_t>(k)]}});
      const bool poor = k == 3;
      if (poor && i % 3 == 0) continue;
      out["annotations"].push_back({{"id", id++},
                                    {"image_id", i},
                                    {"category_id", 1 + (poor ? i / 2 : i) % 2},
                                    {"bbox", {x + (poor ? 8 : k), y, poor ? 55 : 40, 30}},
                                    {"annotator_id", people[static_cast<std::size_t>(k)]}});
    }
  }
  return out;
}

struct Plan : testing::Test {
  Plan() { folder.write("crowd.json", crowd().dump()); }
  bdc::test::Outcome host(const std::vector<std::string>& words) const { return run_host(words, folder.path()); }
  [[nodiscard]] json read(const std::string& name) const { return json::parse(read_file(folder.path() / name)); }
  void refuses(const std::vector<std::string>& words, int code, const std::string& text) const {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "plan.json"));
  }
  TemporaryFolder folder;
};

TEST_F(Plan, SendsPeopleToImagesTheyHaveNotSeenWithinTheBudget) {
  const auto outcome = host({"plan", "crowd.json", "--budget", "12", "-o", "plan.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("12 looks at a cost of 12"), std::string::npos) << outcome.out;
  const json plan = read("plan.json");
  ASSERT_EQ(plan["looks"].size(), 12u);
  std::set<std::pair<int, std::string>> seen;
  const json labels = crowd();
  for (const json& a : labels["assignments"]) seen.insert({a["image_id"].get<int>(), a["annotator_id"]});
  std::map<std::string, int> looks;
  for (const json& look : plan["looks"]) {
    EXPECT_TRUE(seen.insert({look["image_id"].get<int>(), look["annotator_id"]}).second) << look;
    EXPECT_GT(look["expected_gain"].get<double>(), 0);
    ++looks[look["annotator_id"]];
  }
  EXPECT_LT(looks["zoe"], 3) << "those who draw well bring more";
}

TEST_F(Plan, TakesPricesTimeAndExclusions) {
  folder.write("cost.csv", "annotator,cost,looks\nann,100,\nbob,,1\n\"Cid, the third\",2,\n");
  std::string never = "annotator,image\n";
  for (int i = 0; i < 40; i += 2) never += "cid," + std::to_string(i) + ".png\n";
  folder.write("never.csv", never);
  const auto outcome =
      host({"plan", "crowd.json", "--budget", "21", "--cost", "cost.csv", "--exclude", "never.csv", "-o", "plan.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("cost.csv lists 3 of 4 annotators"), std::string::npos) << outcome.err;
  double cost = 0;
  int by_bob = 0;
  const json plan = read("plan.json");
  for (const json& look : plan["looks"]) {
    const std::string who = look["annotator_id"];
    EXPECT_NE(who, "ann") << "too dear";
    if (who == "bob") ++by_bob;
    EXPECT_TRUE(who != "cid" || look["image_id"].get<int>() % 2 == 1) << "excluded";
    cost += look["cost"].get<double>();
  }
  EXPECT_LE(by_bob, 1);
  EXPECT_LE(cost, 21);
  EXPECT_GT(cost, 15);
}

TEST_F(Plan, WritesTaskLists) {
  ASSERT_EQ(host({"plan", "crowd.json", "--budget", "9", "-o", "plan.csv", "-q"}).exit_code, 0);
  const std::string csv = read_file(folder.path() / "plan.csv");
  EXPECT_EQ(csv.rfind("rank,image_id,file_name,annotator_id,annotator,expected_gain,", 0), 0u) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 10);
  ASSERT_EQ(
      host({"plan", "crowd.json", "--budget", "9", "-o", "ls.json", "--output-format", "label-studio", "-q"}).exit_code,
      0);
  const json tasks = read("ls.json");
  ASSERT_EQ(tasks.size(), 9u);
  EXPECT_EQ(tasks[0]["data"]["rank"], 1);
  EXPECT_TRUE(tasks[0]["data"]["image"].get<std::string>().find(".png") != std::string::npos);
  ASSERT_EQ(host({"plan", "crowd.json", "--budget", "9", "-o", "cvat.json", "--output-format", "cvat", "-q"}).exit_code,
            0);
  std::size_t files = 0;
  const json cvat = read("cvat.json");
  for (const json& one : cvat) {
    EXPECT_EQ(one["task"]["labels"].size(), 2u);
    std::set<std::string> once;
    for (const json& file : one["data"]["server_files"]) EXPECT_TRUE(once.insert(file).second);
    files += once.size();
  }
  EXPECT_EQ(files, 9u);
  const auto again = host({"plan", "crowd.json", "--budget", "9", "-o", "plan.csv", "-q"});
  EXPECT_EQ(again.exit_code, 0) << "an earlier plan may be replaced: " << again.err;
  folder.write("mine.csv", "a,b\n");
  refuses({"plan", "crowd.json", "--budget", "9", "-o", "mine.csv"}, 2, "--force");
  refuses({"plan", "crowd.json", "--budget", "9", "-o", "crowd.json"}, 2, "would overwrite an input");
}

TEST_F(Plan, RefusesWhatItCannotUnderstand) {
  const auto with = [&](const std::string& csv, const std::string& text) {
    folder.write("cost.csv", csv);
    refuses({"plan", "crowd.json", "--budget", "9", "--cost", "cost.csv", "-o", "plan.json"}, 4, text);
  };
  with("annotator,cost\nanne,1\n", "did you mean 'ann'");
  with("annotator,price\nann,1\n", "unknown column \"price\"");
  with("annotator,cost\nann,0\n", "cost.csv:2: cost: expected a number above 0, found \"0\"");
  with("annotator,cost\nann,1\nann,2\n", "cost.csv:3: this annotator is listed twice");
  with("annotator,looks\nann,2.5\n", "looks: expected a whole number");
  with("annotator\nann\n", "expected a column cost or looks");
  with("", "found an empty file");
  folder.write("never.csv", "annotator,image\nann,77.png\n");
  refuses({"plan", "crowd.json", "--budget", "9", "--exclude", "never.csv", "-o", "plan.json"}, 4,
          "the labels have no image \"77.png\"");
  refuses({"plan", "crowd.json", "--budget", "0", "-o", "plan.json"}, 2, "--budget");
  refuses({"plan", "crowd.json", "-o", "plan.json"}, 2, "--budget");
  refuses({"plan", "crowd.json", "--budget", "9", "-o", "plan.txt"}, 2, ".csv or .json");
  refuses({"plan", "crowd.json", "--budget", "9", "--output-format", "cvat"}, 2, "without --output");
}

TEST_F(Plan, SaysWhatTheLabelsAreWorthAsTheyAre) {
  const auto outcome = host({"plan", "crowd.json", "--budget", "5", "--judge", "-o", "plan.csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string text = "expected to have as they are: ";
  const auto at = outcome.out.find(text);
  ASSERT_NE(at, std::string::npos) << outcome.out;
  double mean = 0, low = 0, high = 0;
  ASSERT_EQ(std::sscanf(outcome.out.c_str() + at + text.size(), "%lf (%lf to %lf", &mean, &low, &high), 3);
  EXPECT_LE(low, mean);
  EXPECT_LT(low, high);
  EXPECT_LE(mean, high);
  EXPECT_GE(low, 0);
  EXPECT_LE(high, 100);
  folder.write("found.json", R"([{"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5}])");
  refuses({"plan", "crowd.json", "--budget", "5", "--judge", "--predictions", "found.json"}, 2,
          "leave out --predictions");
}

TEST_F(Plan, TheReportShowsIt) {
  ASSERT_EQ(host({"report", "crowd.json", "-o", "r.html", "-q"}).exit_code, 0);
  const std::string page = read_file(folder.path() / "r.html");
  EXPECT_NE(page.find("<section id=\"plan\">"), std::string::npos);
  EXPECT_NE(page.find("id=\"plan-table\""), std::string::npos);
}

}  // namespace
