// A trusted person's decisions: made on the report's page by keyboard, in Chromium, and taken by `aggregate`.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

/// Thirty images with an object each, far apart from it in every third image an invention of "eve", who also takes cats
/// for dogs; "ann" and "bob" agree but for every fifth image, whose object bob alone draws.
json crowd() {
  json out = {{"images", json::array()},
              {"categories", {{{"id", 1}, {"name", "cat"}}, {{"id", 2}, {"name", "dog"}}}},
              {"annotators", {{{"id", "ann"}}, {{"id", "bob"}}, {{"id", "eve"}}}},
              {"annotations", json::array()},
              {"assignments", json::array()}};
  int id = 1;
  for (int i = 0; i < 30; ++i) {
    out["images"].push_back({{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 300}, {"height", 200}});
    for (const char* who : {"ann", "bob", "eve"}) {
      out["assignments"].push_back({{"image_id", i}, {"annotator_id", who}});
    }
    const auto draw = [&](const char* who, std::vector<double> box, int category) {
      out["annotations"].push_back(
          {{"id", id++}, {"image_id", i}, {"category_id", category}, {"bbox", box}, {"annotator_id", who}});
    };
    const double x = 20.0 + 2 * i, y = 30.0 + i;
    const int category = 1 + i % 2;
    if (i % 5 != 0) draw("ann", {x, y, 40, 30}, category);
    draw("bob", {x + 1, y, 40, 31}, category);
    if (i % 2 == 0) draw("eve", {x - 3, y - 3, 48, 38}, 2);
    if (i % 3 == 0) draw("eve", {200, 120, 50, 40}, 1 + i % 4 / 2);
  }
  return out;
}

/// Presses keys in the page; what it saved becomes the title.
std::string with_keys(std::string page, const std::vector<std::string>& keys) {
  const std::string script = R"(<script>
addEventListener('load', () => {
  let saved = '';
  HTMLAnchorElement.prototype.click = function() { saved = this.href; };
  const app = document.getElementById('settle-app'), say = [];
  app.focus();
  const before = app.querySelector('h3').textContent, status = app.querySelector('.settle-say').textContent;
  for (const press of )" + json(keys).dump() +
                             R"() {
    const [key, shift] = press.split('+').reverse();
    app.dispatchEvent(new KeyboardEvent('keydown', {key, shiftKey: !!shift, bubbles: true, cancelable: true}));
    say.push(app.querySelector('.settle-say').textContent);
  }
  document.title = 'FOUND ' + JSON.stringify({before, status, say, saved: decodeURIComponent(saved.split('utf-8,')[1] || ''),
    wide: document.documentElement.scrollWidth - innerWidth});
});
</script>)";
  page.insert(page.rfind("</body>"), script);
  return page;
}

struct Decided : testing::Test {
  Decided() { folder.write("crowd.json", crowd().dump()); }
  bdc::test::Outcome host(const std::vector<std::string>& words) const { return run_host(words, folder.path()); }
  [[nodiscard]] json read(const std::string& name) const { return json::parse(read_file(folder.path() / name)); }

  [[nodiscard]] json press(const std::vector<std::string>& keys, int width = 1280) const {
    // One file for all, because what the browser keeps belongs to it.
    const std::string page = folder.write("pressed.html", with_keys(read_file(folder.path() / "r.html"), keys));
    const auto outcome =
        run({"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--window-size=" + std::to_string(width) + ",900",
             "--user-data-dir=" + (folder.path() / "profile").string(), "--dump-dom", "file://" + page},
            folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << "chromium is needed (tests/packages.txt)\n" << outcome.err;
    const auto from = outcome.out.find("<title>FOUND ");
    if (from == std::string::npos) {
      ADD_FAILURE() << "the page's script did not finish\n" << outcome.err;
      return {};
    }
    std::string text = outcome.out.substr(from + 13, outcome.out.find("</title>", from) - from - 13);
    for (const auto& [entity, letter] :
         {std::pair<std::string, std::string>{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos;)
        text.replace(at, entity.size(), letter);
    }
    return json::parse(text);
  }

  static bool same_box(const json& a, const json& b) {
    for (std::size_t e = 0; e < 4; ++e) {
      if (std::abs(a[e].get<double>() - b[e].get<double>()) > 1e-6) return false;
    }
    return true;
  }
  static json object(int image, std::vector<double> box, const std::string& category, json place) {
    return {{"image_id", image},    {"file_name", std::to_string(image) + ".png"},
            {"verdict", "object"},  {"bbox", box},
            {"category", category}, {"place", std::move(place)}};
  }
  static json nothing(int image, std::vector<double> place) {
    return {
        {"image_id", image}, {"file_name", std::to_string(image) + ".png"}, {"verdict", "nothing"}, {"place", place}};
  }
  void decisions(const std::string& name, const json& list) const {
    folder.write(name, json{{"format", "bdc_decisions"}, {"version", 1}, {"decisions", list}}.dump());
  }
  /// Targets of an image that are probable enough to be drawn.
  [[nodiscard]] static std::vector<json> targets_of(const json& consensus, int image) {
    std::vector<json> out;
    for (const json& t : consensus["annotations"]) {
      if (t["image_id"] == image && t["existence"].get<double>() >= 0.02) out.push_back(t);
    }
    return out;
  }
  TemporaryFolder folder;
};

TEST_F(Decided, ByKeyboardOnThePageKeptInTheBrowserAndSaved) {
  ASSERT_EQ(host({"report", "crowd.json", "-o", "r.html", "-q", "--method", "bdc"}).exit_code, 0);
  // Accept as it is; reject; move, resize and call it a dog; reject and take that back; draw another; save.
  const json found = press(
      {"a", "r", "ArrowRight", "ArrowRight", "shift+ArrowDown", "2", "a", "r", "u", "d", "ArrowUp", "1", "a", "s"});
  ASSERT_TRUE(found.is_object());
  EXPECT_LE(found["wide"].get<int>(), 0) << "the page scrolls sideways";
  const json file = json::parse(found["saved"].get<std::string>());
  EXPECT_EQ(file["format"], "bdc_decisions");
  const json& list = file["decisions"];
  ASSERT_EQ(list.size(), 4u) << file.dump(1);
  EXPECT_EQ(list[0]["verdict"], "object");
  EXPECT_EQ(list[0]["bbox"], list[0]["place"]);
  EXPECT_EQ(list[1]["verdict"], "nothing");
  EXPECT_EQ(list[2]["verdict"], "object");
  EXPECT_EQ(list[2]["category"], "dog");
  EXPECT_NEAR(list[2]["bbox"][0].get<double>(), list[2]["place"][0].get<double>() + 2, 0.011);
  EXPECT_NEAR(list[2]["bbox"][3].get<double>(), list[2]["place"][3].get<double>() + 1, 0.011);
  EXPECT_TRUE(list[3]["place"].is_null());
  EXPECT_EQ(list[3]["category"], "cat");

  const json later = press({"s"});
  EXPECT_EQ(later["saved"], found["saved"]) << "what was decided is kept";
  EXPECT_NE(later["status"].get<std::string>().find("3 of "), std::string::npos) << later["status"];
  EXPECT_EQ(later["before"].get<std::string>().rfind("Place 4 of ", 0), 0u) << later["before"];

  folder.write("decisions.json", found["saved"].get<std::string>());
  const auto outcome = host({"aggregate", "crowd.json", "--decisions", "decisions.json", "-o", "out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("decided: 3 objects and 1 place without one"), std::string::npos) << outcome.err;
  std::size_t settled = 0;
  const json consensus = read("out.json");
  for (const json& t : consensus["annotations"]) {
    for (const json& d : list) {
      if (d["verdict"] != "object" || d["image_id"] != t["image_id"] || !same_box(d["bbox"], t["bbox"])) continue;
      EXPECT_EQ(t["score"], 1.0);
      ++settled;
    }
  }
  EXPECT_EQ(settled, 3u);
}

TEST_F(Decided, SettlesThesePlacesAndJudgesEverybodyByThem) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "before.json", "--annotators", "a0.json", "-q"}).exit_code, 0);
  json list = json::array();
  for (int i = 0; i < 30; i += 3) list.push_back(nothing(i, {200, 120, 50, 40}));
  list.push_back(object(5, {31, 36, 39, 30}, "dog", {31, 35, 40, 31}));
  decisions("d.json", list);
  const auto outcome =
      host({"aggregate", "crowd.json", "-o", "after.json", "--annotators", "a1.json", "--decisions", "d.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("decided: 1 object and 10 places without one; 11 labels stood there"), std::string::npos)
      << outcome.err;
  const json before = read("before.json"), after = read("after.json");
  for (int i = 0; i < 30; ++i) {
    const auto was = targets_of(before, i), is = targets_of(after, i);
    if (i == 5) {
      ASSERT_EQ(is.size(), 1u);
      EXPECT_EQ(is[0]["bbox"], json({31, 36, 39, 30}));
      EXPECT_EQ(is[0]["existence"], 1.0);
      EXPECT_EQ(is[0]["category_id"], 2);
      continue;
    }
    for (const json& t : is) EXPECT_LT(t["bbox"][0].get<double>(), 150) << "a rejected place is still there in " << i;
    EXPECT_EQ(is.size(), was.size() - (i % 3 == 0 && was.size() > 1 ? 1 : 0)) << i;
  }
  const auto counts = [&](const std::string& name, std::size_t k) { return read(name)["annotators"][k]; };
  const auto invented = [&](const std::string& name) { return counts(name, 2)["existence"]["spurious"].get<double>(); };
  EXPECT_GE(invented("a1.json"), 9.999) << "eve invented ten";
  EXPECT_GE(invented("a1.json"), invented("a0.json"));
  EXPECT_EQ(counts("a1.json", 2)["annotations"], counts("a0.json", 2)["annotations"]);
  EXPECT_EQ(counts("a1.json", 2)["images"], counts("a0.json", 2)["images"]);
}

TEST_F(Decided, TwoPeopleAreMergedAndContradictionsNamed) {
  decisions("one.json", {nothing(0, {200, 120, 50, 40}), object(1, {22, 31, 40, 30}, "dog", {22, 31, 40, 30}),
                         object(2, {24, 32, 40, 30}, "cat", {24, 32, 40, 30})});
  decisions("two.json", {object(0, {200, 120, 50, 40}, "cat", {201, 120, 50, 40}),
                         object(1, {24, 31, 40, 30}, "dog", {22, 31, 40, 30}), nothing(3, {200, 120, 50, 40})});
  const auto outcome =
      host({"aggregate", "crowd.json", "-o", "out.json", "--decisions", "one.json", "--decisions", "two.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("contradiction, so that neither counts: image 0.png: one.json: decisions[0] says nothing, "
                             "two.json: decisions[0] says an object of class \"cat\""),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("decided: 2 objects and 1 place without one"), std::string::npos) << outcome.err;
  const json after = read("out.json");
  const auto of_first = targets_of(after, 1);
  ASSERT_EQ(of_first.size(), 1u);
  EXPECT_EQ(of_first[0]["bbox"], json({23, 31, 40, 30})) << "the mean of two who agree";
}

TEST_F(Decided, OtherMethodsSettleAndSayThatTheyLearnNothing) {
  decisions("d.json", json::array({object(1, {22, 31, 44, 33}, "dog", {22, 31, 40, 30})}));
  for (const std::string method : {"mv", "wbf", "crowd_rcnn", "na"}) {
    const auto outcome =
        host({"aggregate", "crowd.json", "-o", "out.json", "--decisions", "d.json", "--method", method});
    ASSERT_EQ(outcome.exit_code, 0) << method << outcome.err;
    EXPECT_NE(outcome.err.find("learns nothing about people from it"), std::string::npos) << outcome.err;
    std::size_t here = 0;
    const json out = read("out.json");
    for (const json& t : out["annotations"]) {
      if (t["image_id"] != 1) continue;
      ++here;
      EXPECT_EQ(t["bbox"], json({22, 31, 44, 33})) << method;
    }
    EXPECT_EQ(here, 1u) << method;
  }
}

TEST_F(Decided, RefusesWhatItCannotUnderstand) {
  const auto refuses = [&](const std::string& text, const std::string& message) {
    folder.write("d.json", text);
    const auto outcome = host({"aggregate", "crowd.json", "-o", "out.json", "--decisions", "d.json"});
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.json"));
  };
  const auto list = [](const json& one) {
    return json{{"format", "bdc_decisions"}, {"version", 1}, {"decisions", json::array({one})}}.dump();
  };
  refuses("{}", "expected decisions as the report saves them");
  refuses("[]", "expected an object");
  refuses(R"({"format": "bdc_decisions", "version": 2, "decisions": []})", "expected version 1");
  refuses(list({{"image_id", 77}, {"verdict", "nothing"}, {"place", {1, 1, 5, 5}}}), "no image with the id \"77\"");
  refuses(list({{"image_id", 7}, {"file_name", "8.png"}, {"verdict", "nothing"}, {"place", {1, 1, 5, 5}}}),
          "these decisions are about other labels");
  refuses(list({{"image_id", 7}, {"verdict", "maybe"}}), "expected \"object\" or \"nothing\"");
  refuses(list({{"image_id", 7}, {"verdict", "nothing"}}), "needs a place");
  refuses(list({{"image_id", 7}, {"verdict", "object"}, {"category", "cat"}}), "needs a bbox");
  refuses(list({{"image_id", 7}, {"verdict", "object"}, {"bbox", {1, 1, 5, 5}}}), "needs a category");
  refuses(list({{"image_id", 7}, {"verdict", "object"}, {"bbox", {1, 1, -5, 5}}, {"category", "cat"}}), "above 0");
  refuses(list({{"image_id", 7}, {"verdict", "object"}, {"bbox", {1, 1, 5, 5}}, {"category", "cta"}}), "'cat'");
  decisions("fine.json", json::array({nothing(0, {200, 120, 50, 40})}));
  EXPECT_EQ(host({"aggregate", "crowd.json", "--decisions", "fine.json", "--method", "all"}).exit_code, 2);
  EXPECT_EQ(host({"aggregate", "crowd.json", "--decisions", "fine.json", "-o", "fine.json"}).exit_code, 2);
}

}  // namespace
