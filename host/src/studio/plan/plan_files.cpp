#include "studio/plan/plan_files.h"

#include <cmath>
#include <map>

#include "bdc/base/json_stream.h"
#include "bdc/base/markup.h"
#include "files/json_file.h"
#include "studio/report/html.h"

namespace bdc::host {
namespace {

double rounded(double value) {
  return std::round(value * 1e5) / 1e5;
}

Json id_of(const ExternalId& id) {
  if (!id.is_integer) return id.text;
  return Json::parse(id.text);
}

std::string csv(const CrowdData& crowd, const LookPlan& plan) {
  std::string out = "rank,image_id,file_name,annotator_id,annotator,expected_gain,of_unseen_objects,cost,seen_by\n";
  std::size_t rank = 0;
  for (const PlannedLook& look : plan.looks) {
    const auto i = static_cast<std::size_t>(look.image);
    const ImageRecord& image = crowd.images[i];
    const AnnotatorRecord& who = crowd.annotators[static_cast<std::size_t>(look.annotator)];
    out += std::to_string(++rank) + "," + csv_text(image.id.text) + "," + csv_text(image.file) + "," +
           csv_text(who.id.text) + "," + csv_text(who.name) + "," + shortest_decimal(rounded(look.gain)) + "," +
           shortest_decimal(rounded(look.unseen)) + "," + shortest_decimal(look.cost) + "," +
           std::to_string(lookers(crowd, i)) + "\n";
  }
  return out;
}

std::string json(const CrowdData& crowd, const LookPlan& plan) {
  double gain = 0;
  for (const PlannedLook& look : plan.looks) gain += look.gain;
  Json out = {{"format", "bdc_plan"},
              {"version", 1},
              {"cost", plan.cost},
              {"expected_objects", rounded(plan.objects)},
              {"worth", rounded(plan.worth)},
              {"expected_gain", rounded(gain)},
              {"looks", Json::array()}};
  for (const PlannedLook& look : plan.looks) {
    const auto i = static_cast<std::size_t>(look.image);
    const AnnotatorRecord& who = crowd.annotators[static_cast<std::size_t>(look.annotator)];
    out["looks"].push_back({{"image_id", id_of(crowd.images[i].id)},
                            {"file_name", crowd.images[i].file},
                            {"annotator_id", id_of(who.id)},
                            {"annotator", who.name},
                            {"expected_gain", rounded(look.gain)},
                            {"of_unseen_objects", rounded(look.unseen)},
                            {"cost", look.cost},
                            {"seen_by", lookers(crowd, i)}});
  }
  return out.dump(1) + "\n";
}

/// A task of CVAT for every person: what POST /api/tasks and POST /api/tasks/<id>/data take.
std::string cvat(const CrowdData& crowd, const LookPlan& plan) {
  Json labels = Json::array();
  for (const ClassRecord& one : crowd.classes) labels.push_back({{"name", one.name}, {"type", "rectangle"}});
  std::map<std::int32_t, Json> files;  // by annotator
  for (const PlannedLook& look : plan.looks) {
    Json& list = files.emplace(look.annotator, Json::array()).first->second;
    list.push_back(title_of(crowd.images[static_cast<std::size_t>(look.image)]));
  }
  Json out = Json::array();
  for (const auto& [k, list] : files) {
    const std::string who = title_of(crowd.annotators[static_cast<std::size_t>(k)]);
    out.push_back({{"assignee", who},
                   {"task", {{"name", "plan for " + who}, {"labels", labels}}},
                   {"data", {{"image_quality", 95}, {"sorting_method", "predefined"}, {"server_files", list}}}});
  }
  return out.dump(1) + "\n";
}

/// A task for every look. Who should take it is a column of the Data Manager.
std::string label_studio(const CrowdData& crowd, const LookPlan& plan) {
  Json out = Json::array();
  for (const PlannedLook& look : plan.looks) {
    out.push_back({{"data",
                    {{"image", title_of(crowd.images[static_cast<std::size_t>(look.image)])},
                     {"annotator", title_of(crowd.annotators[static_cast<std::size_t>(look.annotator)])},
                     {"rank", out.size() + 1},
                     {"expected_gain", rounded(look.gain)}}}});
  }
  return out.dump(1) + "\n";
}

}  // namespace

std::string title_of(const AnnotatorRecord& annotator) {
  return annotator.name.empty() ? annotator.id.text : annotator.name;
}

std::string title_of(const ImageRecord& image) {
  return image.file.empty() ? image.id.text : image.file;
}

std::size_t lookers(const CrowdData& crowd, std::size_t image) {
  return crowd.assignment_begin[image + 1] - crowd.assignment_begin[image];
}

const std::vector<PlanFormat>& plan_formats() {
  static const std::vector<PlanFormat> table = {
      {"csv", "a row for every look, for spreadsheets", csv},
      {"json", "the same with the sums", json},
      {"cvat", "a task of CVAT's REST API for every person", cvat},
      {"label-studio", "a task of Label Studio for every look, with a column that names who", label_studio}};
  return table;
}

const PlanFormat* find_plan_format(const std::string& name) {
  for (const PlanFormat& format : plan_formats()) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

}  // namespace bdc::host
