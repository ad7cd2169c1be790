#include "studio/scorecard/scorecard.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "bdc/base/text.h"
#include "bdc/learn/learners.h"
#include "studio/report/assets.h"
#include "studio/report/gallery_panel.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"
#include "studio/scorecard/examples.h"

namespace bdc::host {
namespace {

constexpr std::size_t kFewestPeople = 4;  // a mean of fewer would tell of single colleagues
constexpr std::size_t kMostPairs = 6;
constexpr double kLeastCount = 1;  // expected boxes under a wrong class, to be named

const char* const kYoursWith = "class=\"a d0\" style=\"--h:35;";
const char* const kPale = "stroke-opacity:.55\"";

std::string number(double value, int decimals) {
  return in_column(value, decimals);
}

/// "w12" of "w12.html".
std::string file_stem_of(const std::string& file) {
  return file.substr(0, file.rfind('.'));
}

/// "97 %"; what is surer than that can be told is "over 99 %".
std::string sure_text(double sure) {
  return sure > 0.99 ? "over 99 % sure" : number(std::floor(sure * 100), 0) + " % sure";
}

/// "7.4 (6.8 to 8.0)", all times `scale`.
std::string with_range(const Figure& f, double scale, int decimals, const std::string& unit = "") {
  return "<b>" + number(f.mean * scale, decimals) + unit + "</b> (" + number(f.low * scale, decimals) + " to " +
         number(f.high * scale, decimals) + unit + ")";
}

std::string card(const std::string& html, const std::string& words) {
  return "<div class=\"card\">" + html + "<p class=\"note\">" + words + "</p></div>";
}

/// The place of an example with room around it, inside of the image where its size is known. Without pictures there is
/// more room, so that other boxes tell where it lies.
View view_around(const ReportData& data, const Example& example) {
  const ImageRecord& image = data.crowd.images[example.image];
  const Box& b = example.box;
  const double times = data.pictures ? 1.2 : 1.8;
  const double room = std::max({times * b.width(), times * b.height(), 20.0});
  Box region{b.x1 - room, b.y1 - room, b.x2 + room, b.y2 + room};
  if (image.width > 0) {
    const double width = image.width, height = image.height;
    region = {std::max(0.0, region.x1), std::max(0.0, region.y1), std::min(width, region.x2),
              std::min(height, region.y2)};
    if (!region.valid()) region = {0, 0, width, height};
  }
  return {region, static_cast<double>(image.width), static_cast<double>(image.height), 4};
}

class ExampleCards {
 public:
  ExampleCards(const ReportData& data, std::size_t k) : data_(data), k_(k) {}

  /// Cards of examples; empty when there are none. words: what is to be seen.
  template <class Words>
  std::string html(const std::vector<Example>& examples, const Words& words) {
    std::string out;
    for (const Example& example : examples) {
      out +=
          card(panel(example), words(example) + " <span class=\"source\">" + isolated(image_name(example)) + "</span>");
    }
    return out.empty() ? "" : "<div class=\"cards four\">" + out + "</div>";
  }

  [[nodiscard]] const std::string& class_name(std::int32_t label) const {
    return data_.crowd.classes[static_cast<std::size_t>(label)].name;
  }

 private:
  [[nodiscard]] std::string image_name(const Example& example) const {
    const ImageRecord& image = data_.crowd.images[example.image];
    return shortened(image.file.empty() ? image.id.text : image.file, 40);
  }

  std::string panel(const Example& example) {
    const CrowdData& crowd = data_.crowd;
    const View view = view_around(data_, example);
    const std::string id = "pic" + std::to_string(next_++);
    const std::string stored = stored_picture(data_.pictures.get(), example.image, view, id);
    Panel out(example.overlap >= kSameObject ? "where you draw"
              : example.overlap >= 0         ? "out of place"
              : example.drawn_class < 0      ? "not drawn"
              : example.class_found < 0      ? "nothing found"
                                             : "another class",
              "An example on " + image_name(example), view, stored.empty() ? "" : "<use href=\"#" + id + "\"/>");
    const bool not_drawn = example.drawn_class < 0;
    const std::string label = class_name(not_drawn ? example.class_found : example.drawn_class);
    out.box(example.box, std::string(not_drawn ? "class=\"c\" style=\"" : kYoursWith) + "stroke-width:2.6px\"",
            (not_drawn ? "all together: " : "yours: ") + label, crowd.classes.size() > 1 ? label : "");
    for (std::size_t n = crowd.annotation_begin[example.image]; n < crowd.annotation_begin[example.image + 1]; ++n) {
      const Annotation& a = crowd.annotations[n];
      if (static_cast<std::size_t>(a.annotator) != k_) continue;
      out.box(a.box, std::string(kYoursWith) + (example.overlap >= 0 ? "stroke-width:2.4px\"" : kPale),
              "yours: " + class_name(a.label));
    }
    const Targets& t = data_.methods.front().targets;
    for (std::size_t n = t.begin[example.image]; n < t.begin[example.image + 1]; ++n) {
      if (sureness(t, n) < 0.5) continue;
      out.box(t.box[n], std::string("class=\"c\" style=\"") + kPale, "all together: " + class_name(t.label(n)));
    }
    return stored + out.html();
  }

  const ReportData& data_;
  std::size_t k_;
  std::size_t next_ = 0;
};

/// Whether an interval tells that a figure is above or below a mean: +1, -1 or 0.
int beside(const Figure& f, double mean) {
  return f.low > mean ? 1 : f.high < mean ? -1 : 0;
}

struct Pair {
  std::size_t is = 0, called = 0;
  double count = 0;
};

/// What the annotator gives a wrong class most often.
std::vector<Pair> mixed_up(const AnnotatorPosteriors& p, std::size_t k) {
  std::vector<Pair> out;
  const std::size_t J = p.classes.size();
  for (std::size_t c = p.confusion.begin[k]; c < p.confusion.begin[k + 1]; ++c) {
    const auto given = static_cast<std::size_t>(p.confusion.label[c]);
    for (std::size_t j = 0; j < J; ++j) {
      if (j != given && p.confusion.value[c * J + j] >= kLeastCount)
        out.push_back({j, given, p.confusion.value[c * J + j]});
    }
  }
  std::sort(out.begin(), out.end(), [](const Pair& a, const Pair& b) {
    return std::tie(b.count, a.is, a.called) < std::tie(a.count, b.is, b.called);
  });
  if (out.size() > kMostPairs) out.resize(kMostPairs);
  return out;
}

bool has_edges(const AnnotatorPosteriors& p) {
  return learner_traits(p.profile).box_error.of_edges;
}

/// How far out of the object an edge lies: errors count from left to right and from top to bottom.
Figure outwards(const Figure& f, std::size_t edge) {
  return edge < 2 ? Figure{-f.mean, -f.high, -f.low, f.determined} : f;
}

/// Where the annotator's edges lie on average, beside where all together put them; errors enlarged when they are small.
std::string bias_picture(const std::array<Figure, 4>& bias) {
  double largest = 0;
  for (const Figure& f : bias) largest = std::max({largest, std::abs(f.low), std::abs(f.high)});
  double times = 1;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (largest * factor <= 0.3) times = factor;
  }
  const double shown = std::min(1.0, 0.45 / std::max(1e-9, largest * times));  // very large errors stay in the picture
  const double left = 130, top = 70, wide = 180, high = 120, scale = times * shown;
  const auto x = [&](double error, bool right) { return (right ? left + wide : left) + error * scale * wide; };
  const auto y = [&](double error, bool bottom) { return (bottom ? top + high : top) + error * scale * high; };
  const auto rectangle = [](const std::string& kind, double x1, double y1, double x2, double y2) {
    return "<rect " + kind + " x=\"" + coordinate(std::min(x1, x2)) + "\" y=\"" + coordinate(std::min(y1, y2)) +
           "\" width=\"" + coordinate(std::abs(x2 - x1)) + "\" height=\"" + coordinate(std::abs(y2 - y1)) + "\"/>";
  };
  const std::string band = "class=\"band\"";
  const double x1 = x(bias[0].mean, false), y1 = y(bias[1].mean, false), x2 = x(bias[2].mean, true),
               y2 = y(bias[3].mean, true);
  std::string out =
      "<svg class=\"chart bias\" role=\"img\" aria-label=\"Your box beside the one of all together\" viewBox=\"0 0 440 "
      "260\">";
  out += rectangle(band, x(bias[0].low, false), y1, x(bias[0].high, false), y2) +
         rectangle(band, x(bias[2].low, true), y1, x(bias[2].high, true), y2) +
         rectangle(band, x1, y(bias[1].low, false), x2, y(bias[1].high, false)) +
         rectangle(band, x1, y(bias[3].low, true), x2, y(bias[3].high, true));
  out += rectangle("class=\"agreed\"", left, top, left + wide, top + high) + rectangle("class=\"own\"", x1, y1, x2, y2);
  out += "<text class=\"l\" x=\"8\" y=\"250\">";
  out += shown < 1   ? "errors drawn smaller than they are"
         : times > 1 ? "errors drawn " + brief(times) + " times as large as they are"
                     : "errors drawn as large as they are";
  return out + "</text></svg>";
}

}  // namespace

Scorecards::Scorecards(const ReportData& data, const ScorecardSettings& settings) : data_(data), settings_(settings) {
  recall_ = mean_of(recall_figure);
  spurious_ = mean_of(spurious_figure);
  accuracy_ = mean_of(accuracy_figure);
  noise_ = mean_of(box_noise_figure);
  for (std::size_t k = 0; k < size(); ++k) {
    const auto bias = bias_figures(*data_.posteriors, k);
    for (std::size_t i = 0; i < 4; ++i) {
      if (!bias[i].determined) continue;
      bias_[i].mean += bias[i].mean;
      ++bias_[i].people;
    }
  }
  for (CrowdMean& mean : bias_) mean.mean /= std::max(1.0, static_cast<double>(mean.people));
}

Scorecards::CrowdMean Scorecards::mean_of(Figure (*figure)(const AnnotatorPosteriors&, std::size_t)) const {
  CrowdMean out;
  for (std::size_t k = 0; k < size(); ++k) {
    const Figure f = figure(*data_.posteriors, k);
    if (!f.determined) continue;
    out.mean += f.mean;
    ++out.people;
  }
  out.mean /= std::max(1.0, static_cast<double>(out.people));
  return out;
}

std::string Scorecards::mean_text(const CrowdMean& mean, double scale, int decimals, const char* unit) const {
  return mean.people < kFewestPeople ? "too few people" : number(mean.mean * scale, decimals) + unit;
}

std::vector<std::string> Scorecards::file_names() const {
  std::set<std::string> taken = {"index"};
  std::vector<std::string> out;
  for (std::size_t k = 0; k < size(); ++k) {
    const AnnotatorEvidence& who = data_.posteriors->annotators[k];
    const std::string id = settings_.names ? annotator_name(who) : who.id.text;
    const bool plain = !id.empty() && id.size() <= 80 && id.front() != '.' && id.front() != '-' &&
                       std::all_of(id.begin(), id.end(), [](unsigned char c) {
                         return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@';
                       });
    std::string name = plain ? id : "annotator-" + std::to_string(k + 1);
    while (!taken.insert(lower_case(name)).second) name += "-" + std::to_string(k + 1);
    out.push_back(name + ".html");
  }
  return out;
}

std::string Scorecards::in_short(std::size_t k) const {
  const AnnotatorPosteriors& p = *data_.posteriors;
  std::string rows;
  const auto row = [&](const std::string& what, const Figure& f, const CrowdMean& mean, double scale, int decimals,
                       const char* unit) {
    rows += "<tr><td>" + what + "</td>";
    if (f.determined) {
      rows += "<td class=\"n\"><b>" + number(f.mean * scale, decimals) + unit + "</b><small>" +
              number(f.low * scale, decimals) + " – " + number(f.high * scale, decimals) + unit + "</small></td>";
    } else {
      rows += "<td class=\"n note\">not known</td>";
    }
    rows += "<td class=\"n\">" + mean_text(mean, scale, decimals, unit) + "</td></tr>";
  };
  if (p.tells_recall()) {
    row("of 10 objects you draw in place", recall_figure(p, k), recall_, 10, 1, "");
    row("boxes in 10 images where nothing is", spurious_figure(p, k), spurious_, 10, 1, "");
  }
  if (p.tells_classes()) row("of 10 objects you name right", accuracy_figure(p, k), accuracy_, 10, 1, "");
  if (p.tells_boxes()) {
    row("a side of your box is off by", box_noise_figure(p, k), noise_, 100, 1, " %");
  }
  return "<div class=\"scroll\"><table class=\"short\"><thead><tr><th scope=\"col\"></th><th scope=\"col\" "
         "class=\"n\">you</th>"
         "<th scope=\"col\" class=\"n\">crowd’s mean</th></tr></thead><tbody>" +
         rows + "</tbody></table></div>";
}

std::string Scorecards::missed_part(std::size_t k, const std::string& missed, const std::string& loose,
                                    const std::string& extra) const {
  const AnnotatorPosteriors& p = *data_.posteriors;
  std::string out = "<section><h2>What you miss, and what you add</h2>";
  if (!p.tells_recall()) {
    return out + "<p>The method behind these figures (" + escape_html(p.profile) +
           ") does not tell who misses what.</p>" + missed + loose + extra + "</section>";
  }
  const Figure recall = recall_figure(p, k), spurious = spurious_figure(p, k);
  if (recall.determined) {
    out += "<p>Of 10 objects that are in your images you draw about " + with_range(recall, 10, 1) + " in place.";
    if (recall_.people >= kFewestPeople) {
      const int side = beside(recall, recall_.mean);
      out += side > 0   ? " That is more than the crowd’s mean of "
             : side < 0 ? " That is fewer than the crowd’s mean of "
                        : " That cannot be told from the crowd’s mean of ";
      out += number(recall_.mean * 10, 1) + ".";
    }
    const double apart = std::round(p.annotators[k].loose);
    if (apart >= 1) {
      out += " About " + number(apart, 0) + (apart < 1.5 ? " object counts" : " objects count") +
             " as missed although you drew " + (apart < 1.5 ? "it" : "them") +
             ": the box hardly overlaps what your colleagues drew.";
    }
    out += "</p>";
  } else {
    out +=
        "<p>The labels do not tell how many objects you miss: nothing was to be found in the images you saw, or there "
        "was nobody to compare you with.</p>";
  }
  out += missed.empty() ? "" : "<h3>Objects you did not draw</h3>" + missed;
  out += loose.empty() ? "" : "<h3>Objects you drew out of place</h3>" + loose;
  if (spurious.determined) {
    out += "<p>In 10 images you draw about " + with_range(spurious, 10, 1) +
           " boxes where your colleagues together find nothing.";
    if (spurious_.people >= kFewestPeople) out += " The crowd’s mean is " + number(spurious_.mean * 10, 1) + ".";
    out += "</p>";
  } else {
    out += "<p>The labels do not tell how often you draw a box where nothing is.</p>";
  }
  out += extra.empty() ? "" : "<h3>Boxes that nobody else confirms</h3>" + extra;
  return out + "</section>";
}

std::string Scorecards::confused_part(std::size_t k, const std::string& examples) const {
  const AnnotatorPosteriors& p = *data_.posteriors;
  if (!p.tells_classes()) return "";
  std::string out = "<section><h2>What you confuse</h2>";
  const Figure accuracy = accuracy_figure(p, k);
  if (!accuracy.determined) {
    return out +
           "<p>The labels do not tell how well you know the classes: nobody else drew what you drew.</p></section>";
  }
  out += "<p>Of 10 objects you give " + with_range(accuracy, 10, 1) + " the class that they most likely have.";
  if (accuracy_.people >= kFewestPeople) out += " The crowd’s mean is " + number(accuracy_.mean * 10, 1) + ".";
  out += "</p>";
  const std::vector<Pair> pairs = mixed_up(p, k);
  if (pairs.empty()) return out + "<p>There is no class that you mix up with another.</p>" + examples + "</section>";
  out +=
      "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">it most likely is</th><th scope=\"col\">you call it"
      "</th><th scope=\"col\" class=\"n\">boxes, about</th><th scope=\"col\" class=\"n\">of 100 such objects</th>"
      "</tr></thead><tbody>";
  for (const Pair& pair : pairs) {
    const Figure share = mixed_up_figure(p, k, pair.is, pair.called);
    out += "<tr><td>" + isolated(p.classes[pair.is].name) + "</td><td>" + isolated(p.classes[pair.called].name) +
           "</td><td class=\"n\">" + number(pair.count, 0) + "</td><td class=\"n\">" + number(share.mean * 100, 0) +
           "<small>" + number(share.low * 100, 0) + " – " + number(share.high * 100, 0) + "</small></td></tr>";
  }
  return out + "</tbody></table></div>" + examples + "</section>";
}

std::string Scorecards::boxes_part(std::size_t k, const std::string& examples) const {
  const AnnotatorPosteriors& p = *data_.posteriors;
  if (!p.tells_boxes()) return "";
  std::string out = "<section><h2>Where you draw</h2>";
  const auto bias = bias_figures(p, k);
  if (!bias[0].determined) {
    return out +
           "<p>The labels do not tell where you draw: no box of yours has one of a colleague beside it.</p></section>";
  }
  const BoxErrorNames names = box_error_names(p.profile);
  const bool edges = has_edges(p);
  std::string rows;
  int out_of = 0, inside = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const Figure f = edges ? outwards(bias[i], i) : bias[i];
    std::string words = "nothing that can be told from chance";
    if (edges && f.low > 0) words = "too far out", ++out_of;
    if (edges && f.high < 0) words = "too far in", ++inside;
    rows += "<tr><td>" + escape_html(names.name[i]) + "</td><td class=\"n\"><b>" +
            number(f.mean * (edges ? 100 : 1), edges ? 1 : 3) + (edges ? " %" : "") + "</b></td><td class=\"n\">" +
            number(f.low * (edges ? 100 : 1), edges ? 1 : 3) + " – " +
            number(f.high * (edges ? 100 : 1), edges ? 1 : 3) + "</td><td>" +
            (edges ? words : escape_html(names.unit[i])) + "</td></tr>";
  }
  if (edges) {
    out += "<p>" +
           std::string(out_of > 0 && inside == 0   ? "Your boxes tend to be too large."
                       : inside > 0 && out_of == 0 ? "Your boxes tend to be too tight."
                       : out_of + inside > 0       ? "Your boxes tend to be shifted."
                                                   : "Your boxes lean to no side.") +
           " Percent are of the object’s width or height; a positive number lies outside of the object.</p>";
  }
  const Figure noise = box_noise_figure(p, k);
  if (noise.determined) {
    out += "<p>Apart from that, a side of your box is off by about " + with_range(noise, 100, 1, " %") +
           " of the object’s size.";
    if (noise_.people >= kFewestPeople) out += " The crowd’s mean is " + number(noise_.mean * 100, 1) + " %.";
    out += "</p>";
  }
  out += "<div class=\"cards\">";
  if (edges) {
    out += card(
        bias_picture(bias),
        "<svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 24 12\"><path class=\"agreed\" d=\"M0 6H24\"/></svg>"
        "all together <svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 24 12\"><path class=\"own\" "
        "d=\"M0 6H24\"/></svg>you, on average; the band is the range of each side");
  }
  return out +
         "<div class=\"card\"><table><thead><tr><th scope=\"col\">side</th><th scope=\"col\" class=\"n\">you</th><th "
         "scope=\"col\" class=\"n\">range</th><th scope=\"col\"></th></tr></thead><tbody>" +
         rows + "</tbody></table></div></div>" + examples + "</section>";
}

std::string Scorecards::page(std::size_t k) const {
  const AnnotatorPosteriors& p = *data_.posteriors;
  const AnnotatorEvidence& e = p.annotators[k];
  ExampleCards cards(data_, k);
  const Examples examples = examples_of(data_, k, settings_.examples);
  const bool classes = p.tells_classes();
  const auto name_of = [&](std::int32_t label) { return isolated(shortened(cards.class_name(label), 40)); };
  const std::string missed = cards.html(examples.missed, [&](const Example& x) {
    return (classes ? name_of(x.class_found) : std::string("object")) + ", " + sure_text(x.sure) +
           "; you saw the image.";
  });
  const std::string extra = cards.html(examples.extra, [&](const Example& x) {
    return "Your box" + (classes ? " “" + name_of(x.drawn_class) + "”" : std::string()) + "; " + sure_text(x.sure) +
           " that nothing is there.";
  });
  const std::string confused = cards.html(examples.confused, [&](const Example& x) {
    return "You: “" + name_of(x.drawn_class) + "”; all together: “" + name_of(x.class_found) + "” (" +
           sure_text(x.sure) + ").";
  });
  const auto apart = [&](const Example& x) {
    return (classes ? name_of(x.class_found) : std::string("object")) + "; " + number(std::round(100 * x.overlap), 0) +
           " % of your box and of all together’s are the same place.";
  };
  const std::string loose = cards.html(examples.loose, apart);
  const std::string drawn = cards.html(examples.drawn, apart);
  const std::string who = settings_.names ? isolated(annotator_name(e)) : "";
  const auto tile = [](double n, const std::string& name) {
    return "<div><b>" + number(std::round(n), 0) + "</b><span>" + name + "</span></div>";
  };
  std::string legend;
  if (!(missed + extra + confused + loose + drawn).empty()) {
    legend =
        "<p class=\"legend\">In the pictures: <span><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 24 12\">"
        "<path class=\"own\" d=\"M0 6H24\"/></svg>your boxes</span> <span><svg class=\"key\" aria-hidden=\"true\" "
        "viewBox=\"0 0 24 12\"><path class=\"found\" d=\"M0 6H24\"/></svg>what all together make most likely"
        "</span></p>";
  }
  return scorecard_head() +
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
         "'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Your boxes" +
         (settings_.names ? ": " + escape_html(annotator_name(e)) : "") + "</title><style>" + kReportStyle +
         ".short td:first-child { white-space: normal; } .found { fill: none; stroke: var(--c0); stroke-width: 2; } "
         ".band { fill: var(--c1); fill-opacity: .18; } .agreed { fill: none; stroke: var(--c0); stroke-width: 2; "
         "stroke-dasharray: 6 4; } .own { fill: none; stroke: oklch(var(--l) .15 35); stroke-width: 2.4; } "
         ".bias { max-width: 440px; } td small { display: block; color: var(--soft); }</style></head>\n<body><header>"
         "<h1>Your boxes" +
         (settings_.names ? ": " + who : "") +
         "</h1></header><p>This page compares your boxes with what all who saw the same images make most likely "
         "together. Nobody’s boxes are taken for the truth, and a colleague who is right alone can look wrong here. "
         "Each "
         "figure stands with the range that holds it with a probability of 90 %; a wide range means that little is "
         "known.</p><div class=\"tiles\">" +
         tile(e.images, "images you saw") + tile(e.annotations, "boxes you drew") +
         tile(static_cast<double>(size()), size() == 1 ? "person in this crowd" : "people in this crowd") + "</div>" +
         in_short(k) + legend + missed_part(k, missed, loose, extra) + confused_part(k, confused) +
         boxes_part(k, drawn) +
         "<p class=\"note\">Of your colleagues this page holds means alone, over all whose labels tell, and none where "
         "these are fewer than " +
         std::to_string(kFewestPeople) + ". Learnt without the truth (profile " + escape_html(p.profile) +
         ").</p></body></html>\n";
}

std::string Scorecards::index() const {
  const std::vector<std::string> files = file_names();
  std::string rows;
  for (std::size_t k = 0; k < size(); ++k) {
    const AnnotatorEvidence& e = data_.posteriors->annotators[k];
    const std::string name = settings_.names ? isolated(annotator_name(e)) : escape_html(file_stem_of(files[k]));
    rows += "<tr><td><a href=\"" + escape_html(files[k]) + "\">" + name + "</a></td><td class=\"n\">" +
            number(static_cast<double>(e.images), 0) + "</td><td class=\"n\">" +
            number(static_cast<double>(e.annotations), 0) + "</td></tr>";
  }
  return scorecard_head() +
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Scorecards</title><style>" +
         std::string(kReportStyle) +
         "</style></head>\n<body><header><h1>Scorecards</h1></header><p>A page for each person in this crowd. This "
         "list "
         "is for whoever hands them out.</p><table><thead><tr><th scope=\"col\">page</th><th "
         "scope=\"col\" class=\"n\">images seen</th><th scope=\"col\" class=\"n\">boxes drawn</th></tr></thead>"
         "<tbody>" +
         rows + "</tbody></table></body></html>\n";
}

std::string scorecard_head() {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"bdc-host "
         "scorecard\">";
}

}  // namespace bdc::host
