#include <algorithm>
#include <cmath>

#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "bdc/crowd/clip_to_image.h"
#include "bdc/learn/plan/look_plan.h"
#include "studio/plan/plan_files.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

constexpr std::size_t kRowsInLink = 5000;
constexpr double kDrawn = 0.3;  // IoU from which a box counts as drawn for a candidate: as against the truth
constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";

/// Annotators with a box that overlaps this one. Both are cut at the image's border, as methods do.
std::size_t drawers(const CrowdData& crowd, std::size_t image, const Box& box) {
  const Box wanted = clip_to_image(box, crowd.images[image]);
  std::vector<std::int32_t> who;
  for (std::size_t n = crowd.annotation_begin[image]; n < crowd.annotation_begin[image + 1]; ++n) {
    const Annotation& a = crowd.annotations[n];
    if (iou(clip_to_image(a.box, crowd.images[image]), wanted) >= kDrawn) who.push_back(a.annotator);
  }
  std::sort(who.begin(), who.end());
  return static_cast<std::size_t>(std::unique(who.begin(), who.end()) - who.begin());
}

/// The candidates in the order of their gain, and what that is judged by.
struct Ranking {
  std::string method;
  Targets targets;     ///< with existence
  bool voted = false;  ///< the method knows no existence: the share of lookers who drew it stands for it
  Looker next;
  std::vector<RankedPlace> items;
  double total = 0;  ///< sum of the gains
};

/// By the first method that knows the probability of an object, otherwise by the first.
Ranking ranking_of(const ReportData& data) {
  Ranking out;
  if (data.methods.empty()) return out;
  auto chosen = std::find_if(data.methods.begin(), data.methods.end(),
                             [](const MethodLabels& m) { return !m.targets.existence.empty(); });
  if (chosen == data.methods.end()) chosen = data.methods.begin();
  out.method = chosen->name;
  out.targets = chosen->targets;
  if (out.targets.existence.empty()) {
    out.voted = true;
    for (std::size_t i = 0; i + 1 < out.targets.begin.size(); ++i) {
      const auto seen = static_cast<double>(std::max<std::size_t>(1, lookers(data.crowd, i)));
      for (std::size_t n = out.targets.begin[i]; n < out.targets.begin[i + 1]; ++n) {
        out.targets.existence.push_back(static_cast<double>(drawers(data.crowd, i, out.targets.box[n])) / seen);
      }
    }
  }
  if (data.posteriors) out.next = median_annotator(*data.posteriors);
  out.items = places_worth_a_look(out.targets, out.next);
  for (const RankedPlace& item : out.items) out.total += item.gain;
  return out;
}

/// A sum this small is rounding.
bool has_order(const Ranking& ranking) {
  return ranking.total > 1e-9;
}

std::string rounded(double v, int decimals) {
  const double factor = std::pow(10.0, decimals);
  return shortest_decimal(std::round(v * factor) / factor);
}

std::string csv_of(const CrowdData& crowd, const Ranking& ranking, std::size_t rows) {
  const Targets& targets = ranking.targets;
  std::string out =
      "rank,expected_gain,image_id,file_name,left,top,width,height,class,class_probability,existence,drawn_by,seen_"
      "by\n";
  for (std::size_t r = 0; r < std::min(rows, ranking.items.size()); ++r) {
    const RankedPlace& item = ranking.items[r];
    const auto i = static_cast<std::size_t>(item.image);
    const Box& b = targets.box[item.target];
    const auto label = static_cast<std::size_t>(targets.label(item.target));
    out += std::to_string(r + 1) + "," + rounded(item.gain, 5) + "," + csv_text(crowd.images[i].id.text) + "," +
           csv_text(crowd.images[i].file) + "," + rounded(b.x1, 2) + "," + rounded(b.y1, 2) + "," +
           rounded(b.width(), 2) + "," + rounded(b.height(), 2) + "," + csv_text(crowd.classes[label].name) + "," +
           rounded(targets.class_prob(item.target, label), 4) + "," + rounded(targets.existence[item.target], 4) + "," +
           std::to_string(drawers(crowd, i, b)) + "," + std::to_string(lookers(crowd, i)) + "\n";
  }
  return out;
}

/// Who is meant to look next: what this crowd taught, and what is assumed.
std::string next_text(const Ranking& ranking) {
  const Looker& next = ranking.next;
  std::string learnt, assumed;
  const auto add = [&](bool is_learnt, const std::string& text) {
    std::string& list = is_learnt ? learnt : assumed;
    list += (list.empty() ? "" : ", ") + text;
  };
  add(next.recall_learnt, "recall " + brief(next.recall, 2));
  if (ranking.targets.num_classes > 1) add(next.accuracy_learnt, "class accuracy " + brief(next.accuracy, 2));
  if (!ranking.targets.box_std.empty()) add(next.box_noise_learnt, "box σ " + brief(next.box_noise, 2));
  if (assumed.empty()) return "the median annotator of this crowd (" + learnt + ")";
  if (learnt.empty()) return "an annotator with " + assumed + " (assumed, as nothing was learnt about this crowd's)";
  return "the median annotator of this crowd (" + learnt + "; assumed, as nothing was learnt about it: " + assumed +
         ")";
}

std::string introduction(const Ranking& ranking) {
  std::string out = "<p>What the labels would gain, on average, if " + next_text(ranking) +
                    " labelled the place once more, in objects: 1 is an object that becomes found, named, in place and "
                    "known to be so. "
                    "By the consensus of " +
                    isolated(ranking.method) + ". ";
  if (ranking.voted) {
    out +=
        "This method does not say how probable an object is (bdc in its profile absence_aware does), so the share of "
        "annotators who saw the image and drew it is used instead: a plain vote. ";
  }
  return out;
}

std::string table_of(const CrowdData& crowd, const Ranking& ranking, std::size_t rows) {
  const Targets& targets = ranking.targets;
  std::string out = "<div class=\"scroll\"><table id=\"relabel-table\"><thead><tr>";
  for (const char* name :
       {"rank", "expected gain", "image", "class", "class probability", "existence", "drawn by", "seen by", "box"}) {
    const bool text = std::string("image class box").find(name) != std::string::npos;
    out += std::string("<th scope=\"col\"") + (text ? ">" : " class=\"n\">") + name + "</th>";
  }
  out += "</tr></thead><tbody>";
  for (std::size_t r = 0; r < rows; ++r) {
    const RankedPlace& item = ranking.items[r];
    const auto i = static_cast<std::size_t>(item.image);
    const auto label = static_cast<std::size_t>(targets.label(item.target));
    const Box& b = targets.box[item.target];
    const auto cell = [](const std::string& text) { return "<td class=\"n\">" + text + "</td>"; };
    out += "<tr>" + cell(std::to_string(r + 1)) + cell(in_column(item.gain, 4)) + "<td>" +
           isolated(crowd.images[i].file.empty() ? crowd.images[i].id.text : crowd.images[i].file) + "</td><td>" +
           isolated(crowd.classes[label].name) + "</td>" + cell(in_column(targets.class_prob(item.target, label), 3)) +
           cell(in_column(targets.existence[item.target], 3)) + cell(std::to_string(drawers(crowd, i, b))) +
           cell(std::to_string(lookers(crowd, i))) + "<td>" + brief(std::round(b.x1), 6) + ", " +
           brief(std::round(b.y1), 6) + ", " + brief(std::round(b.width()), 6) + " × " +
           brief(std::round(b.height()), 6) + "</td></tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace

std::string relabel_csv(const ReportData& data, std::size_t rows) {
  return csv_of(data.crowd, ranking_of(data), rows);
}

std::string relabel_section(const ReportData& data, const ReportSettings& settings) {
  data.tell("ranking what is worth another look");
  const Ranking ranking = ranking_of(data);
  if (ranking.items.empty()) return "";
  std::string out = "<section id=\"relabel\"><h2>Worth another look</h2>" + introduction(ranking);
  if (!has_order(ranking)) {
    return out + "No extra annotation is expected to gain anything: every one of the " +
           counted(ranking.items.size(), "candidate") + " is already certain, so they cannot be ranked.</p></section>";
  }
  const std::size_t rows = std::min(settings.relabel_rows, ranking.items.size());
  out += "One more annotation of each of the " + counted(ranking.items.size(), "candidate") + " would gain " +
         brief(ranking.total, 3) +
         ". “Drawn by” counts annotators with a box that overlaps the candidate by an IoU of " + brief(kDrawn, 2) +
         ".</p><p><a download=\"relabel.csv\" href=\"data:text/csv;charset=utf-8;base64," +
         base64(kByteOrderMark + csv_of(data.crowd, ranking, kRowsInLink)) + "\">Save as CSV</a>" +
         (ranking.items.size() > kRowsInLink ? " (the first " + std::to_string(kRowsInLink) + ")" : std::string());
  if (rows < ranking.items.size()) {
    out += " <span class=\"note\">The table holds the first " + std::to_string(rows) + " of " +
           std::to_string(ranking.items.size()) + ".</span>";
  }
  return out + "</p>" + table_of(data.crowd, ranking, rows) + "</section>";
}

}  // namespace bdc::host
