#include <algorithm>
#include <cmath>

#include "bdc/base/checksum.h"
#include "bdc/base/text.h"
#include "bdc/learn/plan/look_plan.h"
#include "studio/plan/plan_files.h"
#include "studio/report/assets.h"
#include "studio/report/gallery_figure.h"
#include "studio/report/gallery_panel.h"
#include "studio/report/gallery_view.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

constexpr double kLeastShown = 0.02;  ///< places less probable than this are not asked about
constexpr double kLeastGain = 1e-6;
constexpr double kRoom = 0.6;    ///< shown around a place, in its own sizes
constexpr double kDrawn = 0.3;   ///< IoU from which a box counts as drawn for a place
constexpr double kOthers = 0.3;  ///< other objects less probable than this are not drawn
constexpr double kFar = 0.1;     ///< IoU below which a box is drawn pale, as it is hardly about the place
constexpr std::size_t kMostBoxes = 60;

Json numbers(const Box& b) {
  const auto cents = [](double v) { return std::round(v * 100) / 100; };
  return {cents(b.x1), cents(b.y1), cents(b.width()), cents(b.height())};
}

Json id_of(const ExternalId& id) {
  return id.is_integer ? Json::parse(id.text) : Json(id.text);
}

Json place_of(const ReportData& data, const MethodLabels& method, const RankedPlace& place) {
  const CrowdData& crowd = data.crowd;
  const Targets& t = method.targets;
  const auto i = static_cast<std::size_t>(place.image);
  const ImageRecord& image = crowd.images[i];
  const Box& b = t.box[place.target];
  const double w = kRoom * b.width(), h = kRoom * b.height();
  const View view = view_round({b.x1 - w, b.y1 - h, b.x2 + w, b.y2 + h}, image.width, image.height);
  const auto label = static_cast<std::size_t>(t.label(place.target));
  Json out = {{"id", id_of(image.id)},
              {"file", image.file},
              {"size", {image.width, image.height}},
              {"region", {view.region.x1, view.region.y1, view.region.x2, view.region.y2}},
              {"place", numbers(b)},
              {"label", label},
              {"p", t.class_prob(place.target, label)},
              {"e", t.existence[place.target]},
              {"seen", lookers(crowd, i)},
              {"boxes", Json::array()},
              {"others", Json::array()}};
  std::vector<std::int32_t> who;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    const Annotation& a = crowd.annotations[n];
    if (iou(a.box, b) >= kDrawn) who.push_back(a.annotator);
    if (!a.box.valid() || intersection(a.box, view.region) <= 0 || out["boxes"].size() >= kMostBoxes) continue;
    out["boxes"].push_back({{"b", numbers(a.box)},
                            {"l", a.label},
                            {"n", title_of(crowd.annotators[static_cast<std::size_t>(a.annotator)])},
                            {"h", annotator_hue(a.annotator)},
                            {"d", a.annotator % 6},
                            {"far", iou(a.box, b) < kFar ? 1 : 0}});
  }
  std::sort(who.begin(), who.end());
  out["drawn"] = std::unique(who.begin(), who.end()) - who.begin();
  for (std::size_t n = t.begin[i]; n < t.begin[i + 1]; ++n) {
    if (n == place.target || t.existence[n] < kOthers || intersection(t.box[n], view.region) <= 0) continue;
    out["others"].push_back({{"b", numbers(t.box[n])}, {"l", t.label(n)}});
  }
  if (data.pictures) {
    const auto part = data.pictures->part(i, view.region, image.width, image.height, 640);
    if (part) {
      out["picture"] = "data:image/jpeg;base64," + base64(part->jpeg);
      out["pictureAt"] = numbers(part->region);
    }
  }
  return out;
}

}  // namespace

std::string settle_section(const ReportData& data, const ReportSettings& settings) {
  const auto chosen = std::find_if(data.methods.begin(), data.methods.end(),
                                   [](const MethodLabels& m) { return !m.targets.existence.empty(); });
  if (chosen == data.methods.end() || settings.settle == 0) return "";
  data.tell("ranking what is worth a decision");
  std::vector<RankedPlace> places = places_worth_a_look(chosen->targets, trusted_person());
  const auto settled = [&](const RankedPlace& p) {
    return p.gain < kLeastGain || chosen->targets.existence[p.target] < kLeastShown ||
           !chosen->targets.box[p.target].valid();
  };
  places.erase(std::remove_if(places.begin(), places.end(), settled), places.end());
  if (places.empty()) return "";
  const std::size_t all = places.size();
  places.resize(std::min(all, settings.settle));
  Json page = {{"classes", class_names(data.crowd)}, {"places", Json::array()}};
  for (const RankedPlace& place : places) page["places"].push_back(place_of(data, *chosen, place));
  Checksum key;  // what is kept in the browser is kept for these very places
  key.add(page["places"].dump());
  page["key"] = key.text();
  return "<section id=\"settle\"><h2>Settle disputed places</h2><p>The " + counted(places.size(), "place") + " of " +
         std::to_string(all) + " where the word of somebody whom you trust brings most, by the consensus of " +
         isolated(chosen->name) +
         ". <code>bdc-host aggregate --decisions decisions.json</code> takes what you save as the truth about these "
         "places, and judges everybody by it.<span class=\"js\"> The thick box is what is asked about, the others are "
         "the annotators', paler where they hardly touch it; plain pale ones are other objects of the consensus. Keys, "
         "once you have clicked into the frame: "
         "<kbd>A</kbd> accept, <kbd>R</kbd> reject, <kbd>1</kbd> to <kbd>9</kbd> class, arrows move the box (with "
         "Shift "
         "its lower right corner, with Alt ten pixels), <kbd>D</kbd> draw another object, <kbd>N</kbd> and "
         "<kbd>P</kbd> "
         "next and back, <kbd>U</kbd> undo, <kbd>C</kbd> clear, <kbd>S</kbd> save. The mouse moves the box and its "
         "edges. What you decide is kept in this browser.</span><noscript> This part needs "
         "JavaScript.</noscript></p><div id=\"settle-app\" class=\"js\"></div><script type=\"application/json\" "
         "id=\"settle-data\">" +
         json_for_script(page) + "</script><script>" + kSettleScript + "</script></section>";
}

}  // namespace bdc::host
