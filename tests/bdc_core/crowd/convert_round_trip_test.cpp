// Random data through every format and back. What WriteReport does not list must come back; what it lists is exactly
// what may differ.
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "bdc_core/crowd/io_support.h"

namespace {

using bdc::CrowdData;
using bdc::ExternalId;
using bdc::test::TemporaryFolder;

struct Kind {
  const char* format;
  const char* path;
  double box_tolerance;  ///< pixels; 0: the same bits
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.format;
}

const Kind kinds[] = {
    {"crowd", "out.json", 0}, {"text", "out", 0},       {"yolo", "out", 1e-9},    {"voc", "out", 0},
    {"vindr", "out.csv", 0},  {"cvat", "out", 0},       {"coco", "solo.json", 0}, {"label-studio", "out.json", 1e-9},
    {"datumaro", "out", 0},   {"fiftyone", "out", 1e-9}};

/// Names that trip up careless writers.
const std::vector<std::string> odd_names = {"plain",
                                            "two words",
                                            "comma, comma",
                                            "quote \" quote",
                                            "it's",
                                            "<tag> & amp;",
                                            "\xC3\xA4\xC3\xB6 \xE7\x8C\xAB",
                                            "percent%2Fsign",
                                            "slash/slash",
                                            "#hash",
                                            "[bracket]",
                                            "{brace}",
                                            "colon: colon",
                                            "back\\slash",
                                            ".hidden",
                                            "100",
                                            "007",
                                            "-5",
                                            "true",
                                            "null",
                                            "a.b.c"};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  /// simple: what every format can hold.
  CrowdData make(bool simple) {
    CrowdData data;
    const int images = whole(1, 12), classes = whole(1, 5), annotators = whole(1, 6);
    for (int i = 0; i < images; ++i) {
      const ExternalId id = simple ? ExternalId{std::to_string(100 + i), true} : fresh_id(i);
      std::string file = simple ? std::to_string(100 + i) + ".jpg" : whole(0, 3) == 0 ? "" : file_for(i);
      const bool sized = simple || whole(0, 4) > 0;
      data.images.push_back({id, file, sized ? whole(100, 2000) : 0, sized ? whole(100, 2000) : 0});
    }
    const auto names = shuffled_names();
    for (int j = 0; j < classes; ++j) data.classes.push_back({fresh_id(j), names[static_cast<std::size_t>(j)]});
    for (int k = 0; k < annotators; ++k) {
      data.annotators.push_back({fresh_id(k), simple || whole(0, 1) == 0 ? "" : names[static_cast<std::size_t>(k)]});
    }
    data.assignments_known = simple || whole(0, 3) > 0;
    for (int i = 0; i < images; ++i) {
      for (int k = 0; k < annotators; ++k) {
        if (whole(0, 2) == 0) continue;
        const int boxes = whole(0, 3);
        if (boxes == 0 && data.assignments_known) data.assignments.push_back({i, k});
        for (int n = 0; n < boxes; ++n) data.annotations.push_back({box(), i, whole(0, classes - 1), k});
      }
    }
    if (!simple && whole(0, 1) == 0) {
      data.has_truth = true;
      data.truth_covers.assign(data.images.size(), 0);
      for (int i = 0; i < images; ++i) {
        if (whole(0, 1) == 0) continue;
        data.truth_covers[static_cast<std::size_t>(i)] = 1;
        const bdc::Box b = box();
        if (whole(0, 2) > 0)
          data.truth.push_back({b, i, whole(0, classes - 1), whole(0, 3) == 0, b.area() * whole(1, 2)});
      }
    }
    data.finalize();
    return data;
  }

 private:
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  /// Corners as files with x, y, width, height can state them.
  bdc::Box box() {
    double x = real(-5, 500), y = real(-5, 500), w = real(0.01, 300), h = real(0.01, 300);
    if (whole(0, 1) == 0) {
      x = std::round(x), y = std::round(y), w = std::ceil(w), h = std::ceil(h);
    }
    return {x, y, x + w, y + h};
  }

  /// Different text for different n, whatever its type, as most formats need.
  ExternalId fresh_id(int n) {
    switch (whole(0, 4)) {
      case 0:
        return {"id " + std::to_string(n) + " " + odd_names[static_cast<std::size_t>(whole(0, 20))], false};
      case 1:
        return {"0" + std::to_string(n), false};
      case 2:
        return {std::to_string(1000 + n), false};  // looks like a number
      default:
        return {std::to_string(10 * n - 7), true};
    }
  }

  std::string file_for(int i) {
    if (i == 0 && whole(0, 2) == 0) return "classes.jpg";  // its label file must not be taken for class names
    const std::string name = std::to_string(i) + (whole(0, 3) == 0 ? "" : ".jpg");
    return whole(0, 1) == 0 ? "folder " + std::to_string(whole(0, 1)) + "/" + name : name;
  }

  std::vector<std::string> shuffled_names() {
    std::vector<std::string> names = odd_names;
    std::shuffle(names.begin(), names.end(), random_);
    return names;
  }

  std::mt19937 random_;
};

/// What a report says is lost, by the start of its words.
class Losses {
 public:
  explicit Losses(const bdc::WriteReport& report) {
    for (const bdc::Loss& loss : report.losses) {
      EXPECT_GT(loss.count, 0U);
      count_[loss.what] = loss.count;
    }
  }
  [[nodiscard]] std::size_t of(const std::string& start) const {
    std::size_t sum = 0;
    for (const auto& [what, count] : count_) sum += what.rfind(start, 0) == 0 ? count : 0;
    return sum;
  }

 private:
  std::map<std::string, std::size_t> count_;
};

using Row = std::tuple<std::string, std::string, std::string, double, double, double, double>;

std::string typed(const ExternalId& id, bool types) {
  return types ? (id.is_integer ? "i:" : "s:") + id.text : id.text;
}

void expect_boxes_near(const std::vector<Row>& a, const std::vector<Row>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    EXPECT_EQ(std::get<0>(a[n]), std::get<0>(b[n]));
    EXPECT_EQ(std::get<1>(a[n]), std::get<1>(b[n]));
    EXPECT_EQ(std::get<2>(a[n]), std::get<2>(b[n]));
    EXPECT_NEAR(std::get<3>(a[n]), std::get<3>(b[n]), tolerance);
    EXPECT_NEAR(std::get<4>(a[n]), std::get<4>(b[n]), tolerance);
    EXPECT_NEAR(std::get<5>(a[n]), std::get<5>(b[n]), tolerance);
    EXPECT_NEAR(std::get<6>(a[n]), std::get<6>(b[n]), tolerance);
  }
}

class RoundTrip : public testing::TestWithParam<Kind> {};
constexpr unsigned seeds = 30;

void expect_what_is_not_lost_comes_back(const Kind& kind, unsigned seed) {
  const CrowdData data = Maker(seed).make(false);
  const TemporaryFolder folder;
  const Losses lost(bdc::write_crowd(data, folder / kind.path, kind.format));
  bdc::ReadOptions options;
  options.format = kind.format;
  const CrowdData back = bdc::read_crowd({folder / kind.path}, options);
  const bool own = std::string(kind.format) == "crowd", plain = std::string(kind.format) == "coco";
  if (plain && data.annotations.empty() && data.has_truth) return;  // the truth is written; see CocoTruth

  // Which images come back, and under which key they can be found.
  const bool unseen_lost = lost.of("images that nobody saw") > 0;
  const bool ids_lost = lost.of("image ids (") > 0;
  const bool image_types_lost = lost.of("image ids that are strings of digits") > 0;
  const bool annotator_types_lost = lost.of("annotator ids that are strings of digits") > 0;
  const bool files_gained = lost.of("images without a file name") > 0, files_lost = lost.of("file names of images") > 0;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    if (!unseen_lost || data.assignment_begin[i] < data.assignment_begin[i + 1]) kept.push_back(i);
  }
  EXPECT_EQ(data.images.size() - kept.size(), lost.of("images that nobody saw"));
  ASSERT_EQ(back.images.size(), kept.size());
  std::map<std::string, std::size_t> image_by_key;  // by id, or by file where ids are lost
  const auto key = [&](const bdc::ImageRecord& image) {
    if (std::string(kind.format) == "cvat") {
      if (!image.file.empty()) return image.file;
      bool taken = false;  // by another image's file name
      for (const bdc::ImageRecord& other : data.images) taken = taken || other.file == image.id.text;
      return image.id.text + (taken ? " (id)" : "");
    }
    if (std::string(kind.format) == "datumaro") {
      if (&image >= back.images.data() && &image < back.images.data() + back.images.size()) return image.id.text;
      if (!image.file.empty()) return image.file.substr(0, image.file.rfind('.'));
      bool taken = false;  // by another image's file name
      for (const bdc::ImageRecord& other : data.images) {
        taken = taken || (!other.file.empty() && other.file.substr(0, other.file.rfind('.')) == image.id.text);
      }
      return image.id.text + (taken ? " (id)" : "");
    }
    return typed(image.id, !image_types_lost);
  };
  for (std::size_t i = 0; i < back.images.size(); ++i) image_by_key[key(back.images[i])] = i;
  std::vector<std::string> new_image_key(data.images.size());
  for (std::size_t n = 0; n < kept.size(); ++n) {
    const bdc::ImageRecord& before = data.images[kept[n]];
    std::size_t at = n;
    if (!(ids_lost && std::string(kind.format) == "label-studio")) {
      ASSERT_TRUE(image_by_key.count(key(before))) << key(before);
      at = image_by_key[key(before)];
    }
    const bdc::ImageRecord& after = back.images[at];
    new_image_key[kept[n]] = std::to_string(at);
    if (!files_lost && !(files_gained && before.file.empty())) {
      EXPECT_EQ(after.file, before.file);
    }
    EXPECT_EQ(after.width, before.width);
    EXPECT_EQ(after.height, before.height);
    if (!ids_lost) {
      EXPECT_EQ(typed(after.id, !image_types_lost), typed(before.id, !image_types_lost));
    }
  }

  // Classes: all names, or all that have boxes.
  std::set<std::string> names_before, names_after, with_boxes;
  std::map<std::string, std::string> class_id;
  for (const auto& a : data.annotations) with_boxes.insert(data.classes[static_cast<std::size_t>(a.label)].name);
  for (const auto& c : data.classes) names_before.insert(c.name);
  for (const auto& c : back.classes) {
    names_after.insert(c.name);
    class_id[c.name] = typed(c.id, lost.of("class ids that are strings of digits") == 0);
  }
  const std::size_t classes_lost = lost.of("classes without");
  EXPECT_EQ(names_after.size() + classes_lost, names_before.size());
  for (const std::string& name : names_after) EXPECT_TRUE(names_before.count(name)) << name;
  if (lost.of("class ids (") == 0) {
    for (const auto& c : data.classes) {
      if (class_id.count(c.name)) {
        EXPECT_EQ(class_id[c.name], typed(c.id, lost.of("class ids that are strings of digits") == 0));
      }
    }
  }

  // Annotators.
  const bool renumbered = lost.of("annotator ids (") > 0, who_lost = plain && lost.of("annotators of annotations") > 0;
  std::map<std::string, std::string> name_of;
  for (const auto& a : back.annotators) name_of[typed(a.id, !annotator_types_lost)] = a.name;
  if (!renumbered && !plain) {
    EXPECT_EQ(back.annotators.size() + lost.of("annotators who"), data.annotators.size());
    for (const auto& a : data.annotators) {
      const auto found = name_of.find(typed(a.id, !annotator_types_lost));
      if (found != name_of.end() && lost.of("names of annotators") == 0) {
        EXPECT_EQ(found->second, a.name);
      }
      if (lost.of("annotators who") == 0) {
        EXPECT_TRUE(found != name_of.end()) << a.id.text;
      }
    }
  }
  const auto who = [&](const CrowdData& d, std::int32_t k, bool before) {
    const auto& record = d.annotators[static_cast<std::size_t>(k)];
    if (who_lost) return std::string("?");
    if (!renumbered) return typed(record.id, !annotator_types_lost);
    return before ? std::to_string(k + 1) : record.id.text;
  };

  // Boxes.
  const bool sizeless_lost = lost.of("boxes of images without a size") > 0;
  std::vector<Row> before, after;
  const auto add = [&](std::vector<Row>& rows, const CrowdData& d, const auto& box, const std::string& image,
                       const std::string& annotator) {
    rows.emplace_back(image, annotator, d.classes[static_cast<std::size_t>(box.label)].name, box.box.x1, box.box.y1,
                      box.box.x2, box.box.y2);
  };
  std::size_t dropped = 0;
  for (const auto& a : data.annotations) {
    const auto i = static_cast<std::size_t>(a.image);
    if (sizeless_lost && data.images[i].width == 0) {
      ++dropped;
    } else {
      add(before, data, a, new_image_key[i], who(data, a.annotator, true));
    }
  }
  for (const auto& a : back.annotations) add(after, back, a, std::to_string(a.image), who(back, a.annotator, false));
  if (data.truth.empty()) {
    EXPECT_EQ(dropped, lost.of("boxes of images without a size"));
  }
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  if (kind.box_tolerance == 0) {
    EXPECT_EQ(before, after);
  } else {
    expect_boxes_near(before, after, kind.box_tolerance);
  }

  // Assignments.
  if (!plain) {
    std::set<std::pair<std::string, std::string>> seen_before, seen_after;
    for (const auto& a : data.assignments) {
      seen_before.emplace(new_image_key[static_cast<std::size_t>(a.image)], who(data, a.annotator, true));
    }
    for (const auto& a : back.assignments) seen_after.emplace(std::to_string(a.image), who(back, a.annotator, false));
    if (lost.of("assignments without a box") == 0) {
      EXPECT_EQ(seen_before, seen_after);
    } else {
      EXPECT_EQ(seen_before.size() - seen_after.size(), lost.of("assignments without a box"));
    }
    const bool stated_lost = lost.of("that assignments are stated") > 0,
               guess_lost = lost.of("assignments guessed") > 0;
    if (!stated_lost && !guess_lost && !data.assignments.empty()) {
      EXPECT_EQ(back.assignments_known, data.assignments_known);
    }
  }

  // Truth.
  if (lost.of("true boxes") == 0 && (own || std::string(kind.format) == "label-studio")) {
    EXPECT_EQ(back.truth.size() + (sizeless_lost ? data.truth.size() - back.truth.size() : 0), data.truth.size());
    if (own) {
      EXPECT_EQ(back.has_truth, data.has_truth);
      EXPECT_EQ(back.truth_covers, data.truth_covers);
      for (std::size_t n = 0; n < data.truth.size(); ++n) {
        EXPECT_EQ(back.truth[n].box, data.truth[n].box);
        EXPECT_EQ(back.truth[n].is_crowd, data.truth[n].is_crowd);
        EXPECT_EQ(back.truth[n].area, data.truth[n].area);
      }
    }
  } else if (!own && std::string(kind.format) != "label-studio") {
    EXPECT_EQ(lost.of("true boxes"), data.truth.size());
  }
  if (own) {
    EXPECT_EQ(lost.of(""), 0U) << "our own format loses nothing";
  }
}

TEST_P(RoundTrip, EverythingNotReportedAsLostComesBack) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_what_is_not_lost_comes_back(GetParam(), seed);
  }
}

void expect_second_trip_changes_nothing(const Kind& kind, unsigned seed) {
  bdc::ReadOptions options;
  options.format = kind.format;
  const auto trip = [&](const CrowdData& data) {
    const TemporaryFolder folder;
    static_cast<void>(bdc::write_crowd(data, folder / kind.path, kind.format));
    return bdc::read_crowd({folder / kind.path}, options);
  };
  // As sets of rows in terms of ids and names, since a format may order annotators and classes its own way.
  const auto boxes = [](const CrowdData& data) {
    std::vector<Row> rows;
    for (const auto& a : data.annotations) {
      rows.emplace_back(typed(data.images[static_cast<std::size_t>(a.image)].id, true),
                        typed(data.annotators[static_cast<std::size_t>(a.annotator)].id, true),
                        data.classes[static_cast<std::size_t>(a.label)].name, a.box.x1, a.box.y1, a.box.x2, a.box.y2);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  const auto assignments = [](const CrowdData& data) {
    std::set<std::pair<std::string, std::string>> rows;
    for (const auto& a : data.assignments) {
      rows.emplace(typed(data.images[static_cast<std::size_t>(a.image)].id, true),
                   typed(data.annotators[static_cast<std::size_t>(a.annotator)].id, true));
    }
    return rows;
  };
  const CrowdData once = trip(Maker(seed).make(false)), twice = trip(once);
  ASSERT_EQ(once.images.size(), twice.images.size());
  for (std::size_t i = 0; i < once.images.size(); ++i) {
    bdc::test::expect_same_id(once.images[i].id, twice.images[i].id);
    EXPECT_EQ(once.images[i].file, twice.images[i].file);
    EXPECT_EQ(once.images[i].width, twice.images[i].width);
  }
  expect_boxes_near(boxes(once), boxes(twice), kind.box_tolerance);
  EXPECT_EQ(assignments(once), assignments(twice));
  EXPECT_EQ(once.assignments_known, twice.assignments_known);
}

TEST_P(RoundTrip, TheSecondTripChangesNothing) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_second_trip_changes_nothing(GetParam(), seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, testing::ValuesIn(kinds), [](const auto& test) {
  std::string name = test.param.format;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Convert, TheFormatOfWhatIsWrittenIsDetected) {
  for (const Kind& kind : kinds) {
    if (std::string(kind.format) == "coco") continue;  // detected as crowd, which reads plain COCO too
    for (unsigned seed = 0; seed < 10; ++seed) {
      const TemporaryFolder folder;
      const CrowdData data = Maker(seed).make(true);
      if (data.annotations.empty()) continue;
      static_cast<void>(bdc::write_crowd(data, folder / kind.path, kind.format));
      bdc::ReadReport report;
      EXPECT_EQ(bdc::read_crowd({folder / kind.path}, {}, &report).annotations.size(), data.annotations.size());
      EXPECT_EQ(report.format, kind.format);
    }
  }
}

}  // namespace
