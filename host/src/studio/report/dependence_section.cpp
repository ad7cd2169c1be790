#include <algorithm>
#include <map>

#include "bdc/learn/communities.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

/// More people than this make no readable picture: those with the most in common are shown.
constexpr std::size_t kMostShown = 40;

using Shares = std::map<std::pair<std::int32_t, std::int32_t>, double>;

std::string cell(double share) {
  if (!(share > 0)) return "<td class=\"heat\"></td>";
  return "<td class=\"heat\" style=\"--share:" + brief(share) + "\">" + brief(100 * share, 2) + "</td>";
}

std::string heat_map(const AnnotatorPosteriors& p, const std::vector<std::int32_t>& people, const Shares& shares) {
  const auto name = [&](std::int32_t k) { return annotator_name(p.annotators[static_cast<std::size_t>(k)]); };
  std::string out = "<div class=\"scroll\"><table class=\"heatmap\"><thead><tr><th></th>";
  for (const std::int32_t k : people) {
    out += "<th title=\"" + escape_html(name(k)) + "\">" + isolated(shortened(name(k), 10)) + "</th>";
  }
  out += "</tr></thead><tbody>";
  for (const std::int32_t a : people) {
    out += "<tr><th scope=\"row\">" + isolated(shortened(name(a), 16)) + "</th>";
    for (const std::int32_t b : people) {
      const auto found = shares.find({std::min(a, b), std::max(a, b)});
      out += a == b ? "<td class=\"heat self\"></td>" : cell(found == shares.end() ? 0.0 : found->second);
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace

std::string dependence_section(const ReportData& data) {
  if (!data.posteriors || data.posteriors->alike.empty()) return "";
  const AnnotatorPosteriors& p = *data.posteriors;
  Shares shares;
  for (const Dependence::Pair& pair : p.alike) shares[{pair.first, pair.second}] = pair.share;
  auto groups = communities(p.alike, p.annotators.size(), 0);
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::string out =
      "<section id=\"alike\"><h2>Who errs alike</h2><p>These annotators give the same wrong class to an object more "
      "often than "
      "chance and their skill explain: people who copied or were taught the same mistake, or detectors of one kind. "
      "Their "
      "agreement proves less than that of strangers, so each of them counts for less in the consensus.</p><ul>";
  std::vector<std::int32_t> people;
  for (const auto& group : groups) {
    out += "<li>" + std::to_string(group.size()) + " together: ";
    for (std::size_t n = 0; n < std::min(group.size(), kMostShown); ++n) {
      out += (n == 0 ? "" : ", ") + isolated(annotator_name(p.annotators[static_cast<std::size_t>(group[n])]));
    }
    out += group.size() > kMostShown ? ", ...</li>" : "</li>";
    people.insert(people.end(), group.begin(), group.end());
  }
  out += "</ul>";
  if (people.size() > kMostShown) people.resize(kMostShown);
  return out + "<p class=\"note\">Errors in common, in per cent of what chance leaves; empty: none.</p>" +
         heat_map(p, people, shares) + "</section>";
}

}  // namespace bdc::host
