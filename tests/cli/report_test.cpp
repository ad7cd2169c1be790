// `bdc-host report`, looked at in a browser.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

/// Goes in front of the page's own script: what goes wrong is kept.
constexpr const char* kWatch = R"(<script>
window.problems = [];
addEventListener('error', (e) => problems.push('error: ' + e.message));
addEventListener('securitypolicyviolation', (e) => problems.push('blocked: ' + e.blockedURI));
for (const kind of ['error', 'warn']) console[kind] = (...words) => problems.push(kind + ': ' + words.join(' '));
</script>)";

/// Goes behind it: sorts, chooses, changes the theme, looks at every chart, at names and roles of what is drawn, at
/// colours and overlaps; the findings become the page's title.
constexpr const char* kLook = R"(<script>
addEventListener('load', () => {
  const check = (ok, what) => { if (!ok) problems.push(what); };
  const blank = (canvas) => {
    const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
    const ink = copy.getContext('2d', {willReadFrequently: true});
    ink.drawImage(canvas, 0, 0);
    const pixels = ink.getImageData(0, 0, copy.width, copy.height).data, seen = new Set();
    for (let i = 0; i < pixels.length; i += 4) seen.add(pixels[i] + ' ' + pixels[i + 1] + ' ' + pixels[i + 2] + ' ' + pixels[i + 3]);
    return seen.size < 4;
  };
  const look = (when) => {
    for (const canvas of document.querySelectorAll('canvas')) {
      if (canvas.parentNode.style.display !== 'none') check(!blank(canvas), when + ': blank canvas ' + (canvas.id || canvas.dataset.group));
    }
    for (const svg of document.querySelectorAll('svg.chart')) check(svg.querySelector('path.d, circle'), when + ': empty chart');
    const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = (colour) => {
      paint.fillStyle = colour;
      paint.fillRect(0, 0, 1, 1);
      const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((v) => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
      return .2126 * r + .7152 * g + .0722 * b + .05;
    };
    const box = document.querySelector('.pic:not(.photo) .a');
    let least = 100;
    for (let hue = 0; box && hue < 360; hue += 5) for (const dash of ['d0', 'd1']) {
      const copy = box.parentNode.appendChild(box.cloneNode());
      copy.setAttribute('class', 'a ' + dash);
      copy.style.setProperty('--h', hue);
      const ratio = light(getComputedStyle(copy).stroke) / light(getComputedStyle(document.querySelector('.pic .paper')).fill);
      least = Math.min(least, Math.max(ratio, 1 / ratio));
      copy.remove();
    }
    check(least >= 3, when + ': a colour of an annotator has a contrast of ' + least.toFixed(2));
  };
  const sideways = () => check(document.documentElement.scrollWidth <= document.documentElement.clientWidth, 'the page is ' + document.documentElement.scrollWidth + ' wide in ' + innerWidth);
  sideways();
  look('at first');
  const table = document.getElementById('annotator-table');
  if (table) {
    const column = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent === 'boxes');
    const values = () => [...table.tBodies[0].rows].map((r) => parseFloat(r.cells[column].textContent));
    const sorted = (sign) => values().every((v, i, all) => i === 0 || sign * (v - all[i - 1]) >= 0);
    const head = table.tHead.rows[0].cells[column];
    check(head.querySelector('button'), 'a heading is no button: Space would not sort');
    check(head.getAttribute('aria-sort') === 'none' && head.scope === 'col', 'a heading does not say what it is');
    head.querySelector('button').click();
    check(sorted(-1) && head.getAttribute('aria-sort') === 'descending', 'not sorted downwards');
    head.click();
    check(sorted(1) && head.getAttribute('aria-sort') === 'ascending', 'not sorted upwards');
    const rows = table.tBodies[0].rows, number = rows[0].cells[column].textContent, missing = rows[0];
    missing.cells[column].textContent = '–';
    for (const way of ['down', 'up']) {
      head.click();
      check(rows[rows.length - 1] === missing, 'what is missing is not last ' + way + 'wards');
    }
    missing.cells[column].textContent = number;
    table.tHead.rows[0].cells[0].click();
    const names = [...rows].map((r) => r.cells[0].textContent), collator = new Intl.Collator(undefined, {numeric: true});
    check(names.every((name, i) => i === 0 || collator.compare(names[i - 1], name) <= 0), 'names are not sorted by their numbers');
    check(document.querySelectorAll('.columns dt').length > 5, 'the columns are not explained');
    check(document.getElementById('who').offsetWidth < 500, 'the list of annotators is too wide');
    rows[rows.length - 1].click();
    check(document.getElementById('who').value === rows[rows.length - 1].dataset.k, 'a click does not choose');
    const filter = document.getElementById('filter');
    filter.value = rows[0].cells[0].textContent;
    filter.dispatchEvent(new Event('input'));
    check([...rows].some((r) => !r.hidden) && (rows.length === 1 || [...rows].some((r) => r.hidden)), 'the filter does nothing');
  }
  for (const box of document.querySelectorAll('.scroll')) check(box.tabIndex === 0 && box.getAttribute('aria-label'), 'keys cannot scroll a table');
  for (const canvas of document.querySelectorAll('canvas')) {
    if (canvas.offsetParent) check(canvas.getAttribute('role') === 'img' && canvas.getAttribute('aria-label'), 'a canvas without a name');
  }
  for (const panel of [...document.querySelectorAll('.panel')].slice(0, 8)) {
    const pic = panel.querySelector('.pic'), wide = pic.getBoundingClientRect().width;
    check(pic.getAttribute('aria-label'), 'a picture without a name');
    panel.closest('figure').style.contentVisibility = 'visible';
    const frame = pic.getBoundingClientRect();
    for (const box of pic.querySelectorAll('rect:not(.paper)')) {
      const r = box.getBoundingClientRect();
      check(r.right > frame.left && r.left < frame.right && r.bottom > frame.top && r.top < frame.bottom, 'a box outside its picture');
    }
    const captions = [...pic.querySelectorAll('text:not(.over)')].map((t) => t.getBoundingClientRect());
    captions.forEach((a, n) => {
      check(a.right <= frame.right + 1, 'a caption leaves its picture');
      check(!captions.slice(0, n).some((b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3), 'captions overlap');
    });
    const press = (key) => panel.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
    press('Enter');
    check(panel.getAttribute('aria-expanded') === 'true' && pic.getBoundingClientRect().width >= Math.min(wide + 1, 700), 'Enter does not enlarge');
    press('Enter');
    check(panel.getAttribute('aria-expanded') === 'false', 'Enter does not make small again');
  }
  const print = [...document.styleSheets].flatMap((s) => [...s.cssRules]).filter((r) => r.media && r.media.mediaText === 'print').map((r) => r.cssText).join(' ');
  check(/\.scroll[^}]*max-height: none/.test(print) && /break-inside: avoid/.test(print), 'no rules for paper');
  dispatchEvent(new Event('beforeprint'));
  check(!document.querySelector('details:not([open])'), 'something is closed on paper');
  dispatchEvent(new Event('afterprint'));
  document.documentElement.classList.remove('script');
  for (const part of document.querySelectorAll('.js')) {
    const above = part.previousElementSibling;
    if (above && above.tagName === 'H3') check(!above.offsetParent, 'without scripts a heading stands alone: ' + above.textContent);
  }
  document.documentElement.classList.add('script');
  const before = getComputedStyle(document.body).backgroundColor;
  document.getElementById('theme').click();
  check(getComputedStyle(document.body).backgroundColor !== before, 'the theme does not change');
  look('after the theme changed');
  check(window.hacked === undefined, 'a name was run as a script');
  sideways();
  const texts = (pattern) => [...document.querySelectorAll(pattern)].map((e) => e.textContent);
  const found = 'FOUND ' + JSON.stringify({problems, width: innerWidth, ready: performance.timing.loadEventStart - performance.timing.navigationStart,
    charts: document.querySelectorAll('svg.chart').length, canvases: document.querySelectorAll('canvas').length,
    rows: table ? table.tBodies[0].rows.length : 0, figures: document.querySelectorAll('figure').length,
    ticks: texts('svg.chart text.x'), captions: texts('figcaption'), cells: texts('td.n'), classes: texts('#one-note'),
    views: [...document.querySelectorAll('.panel:first-child .pic')].map((e) => e.getAttribute('viewBox')),
    drawn: [...document.querySelectorAll('.panel:first-child .pic')].map((p) => p.querySelectorAll('.a').length),
    looks: [...new Set([...document.querySelectorAll('.pic .a')].map((e) => e.querySelector('title').textContent.split(':')[0] + ' ' + e.getAttribute('style') + e.getAttribute('class')))]});
  document.title = found;
  parent.postMessage(found, '*');
});
</script>)";

/// A page that shows another one in a frame: windows are never narrower than 500 pixels, frames are.
std::string framed(const std::string& file, int width) {
  return "<!DOCTYPE html><title>-</title><script>addEventListener('message', (e) => { document.title = e.data; });"
         "</script><iframe style=\"border: 0; height: 900px; width: " +
         std::to_string(width) + "px\" src=\"file://" + file + "\"></iframe>";
}

struct Found {
  json value;
  std::string err;
};

/// What the browser finds in the page, so many pixels wide.
Found look_at(const TemporaryFolder& folder, const std::string& name, int width = 1280) {
  std::string page = read_file(folder.path() / name);
  const auto head = page.find("<title>");
  EXPECT_NE(head, std::string::npos);
  page.insert(head, kWatch);
  page.insert(page.rfind("</body>"), kLook);
  const std::string looked = folder.write("looked.html", page);
  std::vector<std::string> words = {"chromium",
                                    "--headless",
                                    "--no-sandbox",
                                    "--disable-gpu",
                                    "--disable-dev-shm-usage",
                                    "--enable-logging=stderr",
                                    "--window-size=1280,900",
                                    "--user-data-dir=" + (folder.path() / "profile").string(),
                                    "--dump-dom"};
  if (width < 500) words.push_back("--virtual-time-budget=20000");  // until the frame has reported
  words.push_back("file://" + (width < 500 ? folder.write("frame.html", framed(looked, width)) : looked));
  const auto outcome = run(words, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << "chromium is needed (tests/packages.txt)\n" << outcome.err;
  const auto from = outcome.out.find("<title>FOUND ");
  if (from == std::string::npos) {
    ADD_FAILURE() << "the page's script did not finish\n" << outcome.err;
    return {};
  }
  const auto to = outcome.out.find("</title>", from);
  return {json::parse(outcome.out.substr(from + 13, to - from - 13)), outcome.err};
}

/// Four annotators on twelve images; names that try to break out.
json hostile_crowd() {
  json crowd = {
      {"categories", {{{"id", 1}, {"name", "<b>car</b>"}}, {{"id", 2}, {"name", "\"><svg onload=\"hacked=1\">"}}}}};
  const char* names[] = {"<script>hacked=1</script>", "</script><script>hacked=2</script>",
                         "<img src=x onerror=hacked=3>", "plain"};
  for (int k = 0; k < 4; ++k) crowd["annotators"].push_back({{"id", k}, {"name", names[k]}});
  int id = 0;
  for (int i = 0; i < 12; ++i) {
    crowd["images"].push_back({{"id", i}, {"file_name", "<i>" + std::to_string(i)}, {"width", 200}, {"height", 100}});
    for (int k = 0; k < 4; ++k) {
      crowd["assignments"].push_back({{"image_id", i}, {"annotator_id", k}});
      if ((i + k) % 5 == 0) continue;
      crowd["annotations"].push_back({{"id", id++},
                                      {"image_id", i},
                                      {"category_id", 1 + (i * k) % 3 % 2},
                                      {"bbox", {10 + 5 * i + k, 20 + 2 * k, 40 + k, 30}},
                                      {"annotator_id", k}});
    }
  }
  return crowd;
}

class Report : public testing::Test {
 protected:
  TemporaryFolder folder;
  bdc::test::Outcome host(std::vector<std::string> words) { return run_host(std::move(words), folder.path()); }
};

TEST_F(Report, OpensInABrowserWithoutErrorsSortsAndHasDataInEveryChart) {
  folder.write("crowd.json", hostile_crowd().dump());
  const auto outcome = host({"report", "crowd.json", "-o", "r.html", "--relabel-csv", "again.csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Found found = look_at(folder, "r.html");
  EXPECT_EQ(found.value["problems"], json::array()) << found.value;
  EXPECT_EQ(found.err.find("CONSOLE"), std::string::npos) << found.err;
  EXPECT_EQ(found.value["rows"], 4);
  EXPECT_EQ(found.value["figures"], 12);
  EXPECT_GE(found.value["charts"], 3 + 4);    // bound, two overviews, four box errors
  EXPECT_GE(found.value["canvases"], 2 + 1);  // one annotator's two, one per group
  EXPECT_NE(read_file(folder.path() / "again.csv").find("expected_gain"), std::string::npos);
}

TEST_F(Report, FitsATelephoneWhateverTheNames) {
  json crowd = hostile_crowd();
  crowd["annotators"][0]["name"] = std::string(300, 'L');
  crowd["annotators"][1]["name"] = "many words " + std::string(200, ' ') + std::string(200, 'W');
  crowd["categories"][0]["name"] = std::string(300, 'C');
  crowd["images"][0]["file_name"] = std::string(300, 'F') + ".png";
  folder.write("crowd.json", crowd.dump());
  const auto outcome = host({"report", "crowd.json", "--title", std::string(200, 'T'), "-o", "r.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const int width : {400, 1280}) {
    const Found found = look_at(folder, "r.html", width);
    EXPECT_EQ(found.value["problems"], json::array()) << width << found.value["problems"];
    EXPECT_EQ(found.value["width"], width);
  }
}

/// Seven annotators and images of 1280 x 720: a lone box; a scene of small boxes, all drawn by all, shifted; and one
/// that nobody disputes.
json small_boxes() {
  json crowd = {{"categories", {{{"id", 1}, {"name", "person"}}}}};
  int id = 0;
  const auto add = [&](int image, int k, double x, double y) {
    crowd["annotations"].push_back(
        {{"id", id++}, {"image_id", image}, {"category_id", 1}, {"bbox", {x, y, 20, 40}}, {"annotator_id", k}});
  };
  for (int k = 1; k <= 7; ++k) crowd["annotators"].push_back({{"id", k}, {"name", "worker" + std::to_string(k * 3)}});
  for (int i = 0; i < 3; ++i) {
    const char* names[] = {"lone.png", "crowded.png", "agreed.png"};
    crowd["images"].push_back({{"id", i}, {"file_name", names[i]}, {"width", 1280}, {"height", 720}});
    for (int k = 1; k <= 7; ++k) crowd["assignments"].push_back({{"image_id", i}, {"annotator_id", k}});
  }
  add(0, 1, 600, 300);
  add(1, 1, 1200, 650);
  for (int k = 1; k <= 7; ++k) {
    for (int n = 0; n < 3; ++n) add(1, k, 300 + 40 * n + 2 * k, 200 + 4 * k);
    add(2, k, 700, 400);
  }
  return crowd;
}

TEST_F(Report, GalleryShowsTheDisputedPlaceAndCrowdedScenesBeforeLoneBoxes) {
  folder.write("crowd.json", small_boxes().dump());
  ASSERT_EQ(host({"report", "crowd.json", "-o", "r.html"}).exit_code, 0);
  const Found found = look_at(folder, "r.html");
  EXPECT_EQ(found.value["problems"], json::array()) << found.value["problems"];
  ASSERT_EQ(found.value["figures"], 2) << found.value["captions"];
  EXPECT_EQ(found.value["captions"][0].get<std::string>().find("crowded.png"), 0u);
  EXPECT_NE(found.value["captions"][0].get<std::string>().find("the most disputed place, 1 box lies elsewhere"),
            std::string::npos)
      << found.value["captions"];
  const std::string lone = found.value["captions"][1];
  EXPECT_EQ(lone.find("lone.png"), 0u);
  EXPECT_NE(lone.find("1 box by 1 of the 7 annotators"), std::string::npos) << lone;
  EXPECT_NE(lone.find("of its 1280 × 720 pixels"), std::string::npos) << lone;
  for (const json& view : found.value["views"]) EXPECT_NE(view, "0 0 1280 720");
  EXPECT_EQ(found.value["looks"].size(), 7u) << "an annotator looks the same in every figure" << found.value["looks"];
  EXPECT_NE(read_file(folder.path() / "r.html").find("The 2 most disputed of 3 images."), std::string::npos);
}

TEST_F(Report, GalleryOfHundredsOfBoxesShowsAllAnnotatorsAlikeAndSaysWhenSizesAreUnknown) {
  json crowd = small_boxes();
  int id = 1000;
  for (int k = 1; k <= 7; ++k) {
    for (int n = 0; n < 100; ++n) {
      crowd["annotations"].push_back({{"id", id++},
                                      {"image_id", 1},
                                      {"category_id", 1},
                                      {"bbox", {(n % 10) * 30 + k, (n / 10) * 40 + k, 20, 30}},
                                      {"annotator_id", k}});
    }
  }
  for (auto& image : crowd["images"]) image.erase("width"), image.erase("height");
  folder.write("crowd.json", crowd.dump());
  ASSERT_EQ(host({"report", "crowd.json", "-o", "r.html"}).exit_code, 0);
  const Found found = look_at(folder, "r.html");
  EXPECT_EQ(found.value["problems"], json::array()) << found.value["problems"];
  const std::string caption = found.value["captions"][0];
  EXPECT_NE(caption.find("300 boxes are drawn, spread evenly over the annotators"), std::string::npos) << caption;
  EXPECT_NE(caption.find("size is not known"), std::string::npos) << caption;
  EXPECT_EQ(found.value["drawn"][0], 300);
  const std::string page = read_file(folder.path() / "r.html"), panel = page.substr(page.find("<h4><bdi>annotators"));
  for (int k = 1; k <= 7; ++k) {
    const std::string tooltip = "<title>worker" + std::to_string(3 * k) + ": ";
    int drawn = 0;
    const auto end = panel.find("</svg>");
    for (auto at = panel.find(tooltip); at < end; at = panel.find(tooltip, at + 1)) ++drawn;
    EXPECT_NEAR(drawn, 300 / 7.0, 1) << k;
  }
}

TEST_F(Report, NamesTheCrowdsOfAnExperimentAndRoundsAsItsTableDoes) {
  json table = {{"format", "bdc_experiment"}, {"version", 1}, {"name", "grid"}, {"rows", json::array()}};
  for (const char* crowd : {"mix", "noisy", "a crowd with quite a long name, longer than its place"}) {
    for (const char* method : {"bdc", "mv"}) {
      table["rows"].push_back({{"data", "shapes"},
                               {"crowd", crowd},
                               {"detector", ""},
                               {"method", method},
                               {"done", 2},
                               {"seeds", 3},
                               {"numbers",
                                {{"labels AP", {{"mean", 8.99e-6}, {"deviation", 0.000013}, {"values", {0, 1}}}},
                                 {"epoch s", {{"mean", 0.7714}, {"deviation", 0.0269}, {"values", {0, 1}}}}}}});
    }
  }
  folder.write("grid/table.json", table.dump());
  ASSERT_EQ(host({"report", "grid", "-o", "r.html"}).exit_code, 0);
  for (const int width : {400, 1280}) {
    const Found found = look_at(folder, "r.html", width);
    EXPECT_EQ(found.value["problems"], json::array()) << found.value["problems"];
    ASSERT_EQ(found.value["ticks"].size(), 3u) << found.value["ticks"];
    EXPECT_EQ(found.value["ticks"][0], "mix");
    EXPECT_EQ(found.value["ticks"][1], "noisy");
    EXPECT_EQ(found.value["cells"][0], "0.77 ± 0.03");
    EXPECT_EQ(found.value["cells"][1], "0.0 ± 0.0");
    EXPECT_EQ(found.value["cells"][2], "2 of 3");
  }
}

TEST_F(Report, ShowsWhatAggregateWrote) {
  folder.write("crowd.json", hostile_crowd().dump());
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "ours.json", "--annotators", "a.json"}).exit_code, 0);
  ASSERT_EQ(host({"aggregate", "crowd.json", "-m", "wbf", "-o", "theirs.json"}).exit_code, 0);
  const auto outcome = host({"report", "crowd.json", "--consensus", "ours.json", "--consensus", "fused=theirs.json",
                             "--annotators", "a.json", "-o", "r.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string page = read_file(folder.path() / "r.html");
  EXPECT_NE(page.find("<bdi>ours</bdi>"), std::string::npos);
  EXPECT_NE(page.find("<bdi>fused</bdi>"), std::string::npos);
  EXPECT_NE(page.find("annotator-table"), std::string::npos);
}

TEST_F(Report, ShowsARun) {
  const auto trained =
      host({"--plugin", "minimal", "--hook", "bdc", "-q", "--set", "train.epochs=2", "--set",
            "data.shapes.train_images=24", "--set", "data.shapes.test_images=8", "--set", "output.name=run"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto outcome = host({"report", "runs/run", "-o", "r.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Found found = look_at(folder, "r.html");
  EXPECT_EQ(found.value["problems"], json::array()) << found.value;
  EXPECT_EQ(found.value["rows"], 10);
  EXPECT_EQ(found.value["figures"], 24);
  for (std::size_t n = 0; n < 2; ++n) EXPECT_EQ(found.value["ticks"][n], std::to_string(n + 1)) << "whole epochs only";
  EXPECT_NE(found.value["classes"].dump().find("Most frequent confusions"), std::string::npos)
      << found.value["classes"];
  const std::string page = read_file(folder.path() / "r.html");
  EXPECT_NE(page.find("Training loss"), std::string::npos);
  EXPECT_NE(page.find("Lower bound"), std::string::npos);
  EXPECT_NE(page.find("data:image/jpeg"), std::string::npos);
}

TEST_F(Report, OfAThousandAnnotatorsIsSmallAndComplete) {
  const auto made =
      host({"synth", "--shapes", "800", "--classes", "12", "--preset", "coco-mix", "-q", "-o", "crowd.json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ASSERT_EQ(
      host({"aggregate", "crowd.json", "--option", "max_rounds=2", "-q", "-o", "c.json", "--annotators", "a.json"})
          .exit_code,
      0);
  const auto outcome =
      host({"report", "crowd.json", "--consensus", "c.json", "--annotators", "a.json", "-o", "r.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(std::filesystem::file_size(folder.path() / "r.html"), 15000000u);
  const Found found = look_at(folder, "r.html");
  EXPECT_EQ(found.value["problems"], json::array()) << found.value;
  std::smatch unknown;  // those who saw too little to say anything are counted, not listed
  const std::string page = read_file(folder.path() / "r.html");
  const int left_out =
      std::regex_search(page, unknown, std::regex("Too little is known about (\\d+) more")) ? std::stoi(unknown[1]) : 0;
  EXPECT_EQ(found.value["rows"].get<int>() + left_out, 1000);
  EXPECT_LT(left_out, 20);
}

TEST_F(Report, NeverWritesOverWhatItReadsAndLeavesNothingHalfDone) {
  const std::string whole = hostile_crowd().dump();
  folder.write("crowd.json", whole);
  EXPECT_EQ(host({"report", "crowd.json", "-o", "crowd.json"}).exit_code, 2);
  EXPECT_EQ(host({"report", "crowd.json", "-o", "r.html", "--relabel-csv", "r.html"}).exit_code, 2);
  EXPECT_EQ(read_file(folder.path() / "crowd.json"), whole);
  folder.write("cut.json", whole.substr(0, whole.size() / 2));
  const auto outcome = host({"report", "cut.json", "-o", "cut.html"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("cut.json"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "cut.html"));
  EXPECT_EQ(host({"report", "crowd.json", "-m", "nonsense", "-o", "r.html"}).exit_code, 2);
}

}  // namespace
