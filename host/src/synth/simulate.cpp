#include "synth/simulate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "bdc/base/error.h"
#include "bdc/base/parallel.h"
#include "synth/detector_hand.h"
#include "synth/drawn_quality.h"

namespace bdc::host {
namespace {

constexpr std::uint64_t kBiasStream = 7, kUnseenStream = 8, kCoverageStream = 9, kMatrixStream = 10,
                        kDrawingStream = 1000, kPerSkill = 1000000;

/// Numbers the skills: the four known ones first, so that a crowd's bits do not depend on which of them it has.
class SkillNumbering {
 public:
  std::uint64_t of(const std::string& skill) { return number_.try_emplace(skill, number_.size()).first->second; }

 private:
  std::map<std::string, std::uint64_t> number_ = {{"expert", 0}, {"average", 1}, {"poor", 2}, {"random", 3}};
};

void check(const GroupSpec& g) {
  const auto& n = g.numbers;
  const bool sound = g.annotators >= 0 && g.annotators < static_cast<std::int64_t>(kPerSkill) && n.recall >= 0 &&
                     n.recall <= 1 && n.spurious_rate >= 0 && n.spurious_rate < 1000 && n.class_accuracy >= 0 &&
                     n.class_accuracy <= 1 && n.box_noise >= 0 && n.box_noise < 10 && n.accuracy_spread >= 0;
  if (!sound) throw std::invalid_argument("simulated crowd: numbers of skill " + g.skill);
  if (!(g.coverage > 0 && g.coverage <= 1)) throw std::invalid_argument("simulated crowd: share in (0, 1]");
}

/// All images, those without objects, those with some: by Shown.
std::array<std::vector<std::int32_t>, 3> images_by_kind(const CrowdData& labels) {
  std::vector<char> occupied(labels.images.size(), 0);
  for (const TruthBox& t : labels.truth) occupied[static_cast<std::size_t>(t.image)] = 1;
  std::array<std::vector<std::int32_t>, 3> out;
  for (std::size_t i = 0; i < occupied.size(); ++i) {
    out[static_cast<std::size_t>(Shown::any)].push_back(static_cast<std::int32_t>(i));
    out[static_cast<std::size_t>(occupied[i] != 0 ? Shown::occupied : Shown::empty)].push_back(
        static_cast<std::int32_t>(i));
  }
  return out;
}

/// Members that see each image, in their order.
std::vector<std::vector<std::int32_t>> lookers_of(const std::vector<CrowdMember>& members, const CrowdData& labels,
                                                  const SimulateSettings& settings) {
  const std::size_t images = labels.images.size();
  std::vector<std::vector<std::int32_t>> out(images);
  const auto pools = images_by_kind(labels);
  for (std::size_t k = 0; k < members.size(); ++k) {
    const std::vector<std::int32_t>& pool = pools[static_cast<std::size_t>(members[k].shown)];
    if (pool.empty()) {
      throw DataError("'" + members[k].self.name + "' is shown images " +
                      (members[k].shown == Shown::empty ? "without objects only, and every image has some"
                                                        : "with objects only, and no image has any"));
    }
    for (const auto n : covered_images(members[k], pool.size(), settings.seed)) {
      out[static_cast<std::size_t>(pool[static_cast<std::size_t>(n)])].push_back(static_cast<std::int32_t>(k));
    }
  }
  for (std::size_t i = 0; i < images && settings.cover_all && !members.empty(); ++i) {
    if (!out[i].empty()) continue;
    Random random(settings.seed, kUnseenStream, i);
    out[i].push_back(static_cast<std::int32_t>(random.below(static_cast<std::int64_t>(members.size()))));
  }
  return out;
}

/// One who annotates with the networks of a skill; the name and stream are set.
void give_networks(CrowdMember& member, const CrowdData& labels, std::uint64_t seed, const SkillSources& sources) {
  const std::size_t classes = labels.classes.size();
  SimulatedAnnotator& self = member.self;
  if (self.skill == "random") {
    self.confusion = even_matrix(classes);
    member.hand = make_guessing_hand(classes);
  } else {
    const auto found = sources.skills.find(self.skill);
    if (found == sources.skills.end() || !found->second.proposals ||
        found->second.proposals->images() != labels.images.size()) {
      throw std::invalid_argument("simulated crowd: no networks for skill " + self.skill);
    }
    Random random(seed, kMatrixStream, member.stream);
    self.confusion =
        draw_matrix(dirichlet_parameters(found->second.counts, classes, sources.dirichlet_scale), classes, random);
    member.hand = make_network_hand(self.confusion, found->second.proposals, classes);
  }
  set_expected_numbers(self, self.confusion, labels);
}

/// Numbers of six decimals: most of a large file.
Json rounded(const std::vector<double>& numbers) {
  Json out = Json::array();
  for (const double n : numbers) out.push_back(std::round(n * 1e6) / 1e6);
  return out;
}

}  // namespace

std::vector<CrowdMember> make_members(const CrowdSpec& spec, const CrowdData& labels, std::uint64_t seed,
                                      const SkillSources& sources) {
  const ConfusionRule rule = resolve_confusion(spec.confusion, class_names(labels));
  const auto classes = static_cast<std::int64_t>(labels.classes.size());
  std::vector<CrowdMember> out;
  SkillNumbering skills;
  std::map<std::string, std::int64_t> count;
  for (const GroupSpec& group : spec.groups) {
    check(group);
    std::uint64_t first = 0;
    for (std::int64_t n = 0; n < group.annotators; ++n) {
      const std::int64_t number = count[group.skill]++;
      CrowdMember member;
      member.stream = kDrawingStream + skills.of(group.skill) * kPerSkill + static_cast<std::uint64_t>(number);
      if (first == 0) first = member.stream;
      member.shown = group.shown;
      if (group.together) member.coverage_stream = first;
      const std::string name = group.skill + "-" + std::to_string(number + 1);
      if (group.network) {
        member.self.name = name;
        member.self.skill = group.skill;
        give_networks(member, labels, seed, sources);
      } else {
        Random random(seed, kBiasStream, member.stream);
        member.self = draw_annotator(name, group.skill, group.numbers, classes, random);
        member.hand = make_parametric_hand(member.self, group.numbers.class_accuracy <= 0 || classes == 1, rule,
                                           labels.classes.size());
      }
      member.self.coverage = group.coverage;
      out.push_back(std::move(member));
    }
  }
  for (const DetectorSpec& detector : spec.detectors) {
    CrowdMember member;
    member.stream = kDrawingStream + skills.of("detector " + detector.name) * kPerSkill;
    member.self.name = detector.name;
    member.self.skill = "detector";
    member.self.coverage = detector.coverage;
    DetectorHand made = make_detector_hand(detector.file, labels, detector.min_score);
    member.hand = made.hand;
    member.notes = std::move(made.notes);
    out.push_back(std::move(member));
  }
  return out;
}

std::size_t add_empty_images(CrowdData& labels, double share) {
  const std::size_t before = labels.images.size();
  const auto wanted = static_cast<std::size_t>(std::llround(share / (1 - share) * static_cast<double>(before)));
  if (wanted == 0 || before == 0) return 0;
  const bool numbered = std::all_of(labels.images.begin(), labels.images.end(),
                                    [](const ImageRecord& image) { return image.id.is_integer; });
  long long last = 0;
  std::set<std::string> names;
  for (const ImageRecord& image : labels.images) {
    if (numbered) last = std::max(last, std::stoll(image.id.text));
    names.insert(image.id.text);
    names.insert(image.file);
  }
  for (std::size_t n = 0, number = 0; n < wanted; ++n) {
    ImageRecord image = labels.images[n % before];
    do {
      image.file = "empty-" + std::to_string(++number);
    } while (names.count(image.file) > 0);
    image.id = {numbered ? std::to_string(last + 1 + static_cast<long long>(n)) : image.file, numbered};
    labels.images.push_back(std::move(image));
  }
  if (!labels.truth_covers.empty()) labels.truth_covers.resize(labels.images.size(), 1);
  labels.finalize();
  return wanted;
}

std::vector<std::int32_t> covered_images(const CrowdMember& member, std::size_t images, std::uint64_t seed) {
  std::vector<std::int32_t> order(images);
  std::iota(order.begin(), order.end(), 0);
  if (member.self.coverage >= 1 || images == 0) return order;
  const auto wanted = static_cast<std::size_t>(std::clamp<double>(
      std::round(member.self.coverage * static_cast<double>(images)), 1, static_cast<double>(images)));
  Random random(seed, kCoverageStream, member.coverage_stream != 0 ? member.coverage_stream : member.stream);
  for (std::size_t n = 0; n < wanted; ++n) {
    std::swap(order[n], order[n + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(images - n)))]);
  }
  order.resize(wanted);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::int32_t> simulate_crowd(CrowdData& labels, const std::vector<CrowdMember>& members,
                                         const SimulateSettings& settings) {
  if (!labels.annotators.empty()) throw std::invalid_argument("simulated crowd: the labels have annotators already");
  if (members.empty()) return {};
  for (const ImageRecord& image : labels.images) {
    if (image.width < 2 || image.height < 2) {
      throw DataError("image " + image.id.text + ": expected a width and height of at least 2 pixels, found " +
                      std::to_string(image.width) + " x " + std::to_string(image.height) +
                      "; a crowd can only be simulated where sizes are known");
    }
  }
  const auto lookers = lookers_of(members, labels, settings);
  constexpr std::size_t kChunk = 64;
  struct Part {
    std::vector<Annotation> annotations;
    std::vector<Assignment> assignments;
    std::vector<std::int32_t> drawn_for;
  };
  std::vector<Part> parts((labels.images.size() + kChunk - 1) / kChunk);
  parallel_chunks(labels.images.size(), kChunk, settings.threads,
                  [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                    std::vector<Drawing> drawings;
                    for (std::size_t i = begin; i < end; ++i) {
                      for (const auto k : lookers[i]) {
                        const CrowdMember& member = members[static_cast<std::size_t>(k)];
                        Random random(settings.seed, member.stream, i);
                        (void)random.uniform();  // left out, so that older crowds of full coverage keep their bits
                        drawings.clear();
                        member.hand->draw(labels, i, random, drawings);
                        const auto image = static_cast<std::int32_t>(i);
                        parts[chunk].assignments.push_back({image, k});
                        for (const Drawing& d : drawings) {
                          parts[chunk].annotations.push_back({d.box, image, d.label, k});
                          parts[chunk].drawn_for.push_back(d.object);
                        }
                      }
                    }
                  });
  for (const CrowdMember& member : members) {
    AnnotatorRecord record;
    record.id.text = record.name = member.self.name;
    labels.annotators.push_back(std::move(record));
  }
  std::vector<std::int32_t> drawn_for;
  for (Part& part : parts) {
    drawn_for.insert(drawn_for.end(), part.drawn_for.begin(), part.drawn_for.end());
    labels.annotations.insert(labels.annotations.end(), part.annotations.begin(), part.annotations.end());
    labels.assignments.insert(labels.assignments.end(), part.assignments.begin(), part.assignments.end());
    part = {};
  }
  labels.assignments_known = true;
  labels.finalize();  // annotations are in the order of the images already, and keep it
  return drawn_for;
}

Json true_annotators(const CrowdSpec& spec, const std::vector<CrowdMember>& members, const CrowdData& labels,
                     const std::vector<std::int32_t>& drawn_for, std::uint64_t seed, const SkillSources& sources) {
  constexpr std::size_t kMostClasses = 200;  // a matrix of more would be most of the file
  std::vector<double> seen(members.size(), 0.0);
  for (const Assignment& a : labels.assignments) seen[static_cast<std::size_t>(a.annotator)] += 1;
  const auto drawn = measure_drawings(labels, drawn_for);
  const ConfusionRule rule = resolve_confusion(spec.confusion, class_names(labels));
  Json out = {{"format", "bdc_true_annotators"}, {"version", 1}, {"seed", seed}};
  out["classes"] = class_names(labels);
  out["groups"] = Json::array();
  for (const GroupSpec& g : spec.groups) {
    Json group = {{"skill", g.skill}, {"annotators", g.annotators}, {"coverage", g.coverage}};
    const std::size_t J = labels.classes.size();
    if (g.network) {
      group["kind"] = "network";
      const auto source = sources.skills.find(g.skill);
      if (J <= kMostClasses && source != sources.skills.end()) group["confusion_counts"] = source->second.counts;
    } else if (J <= kMostClasses) {
      const bool guesses = g.numbers.class_accuracy <= 0;
      group["mean_confusion"] = guesses ? std::vector<double>(J * J, 1.0 / static_cast<double>(J))
                                        : confusion_matrix(rule, g.numbers.class_accuracy, J);
    }
    out["groups"].push_back(std::move(group));
  }
  out["annotators"] = Json::array();
  for (std::size_t k = 0; k < members.size(); ++k) {
    const SimulatedAnnotator& s = members[k].self;
    Json entry = {{"id", s.name}, {"skill", s.skill}, {"coverage", s.coverage}, {"images", seen[k]}};
    if (s.skill != "detector") {
      entry["recall"] = s.recall;
      entry["spurious_rate"] = s.spurious_rate;
      entry["class_accuracy"] = s.class_accuracy;
      if (s.confusion.empty()) {
        entry["bias"] = s.bias;
        entry["noise"] = s.noise;
      } else if (labels.classes.size() <= kMostClasses) {
        entry["confusion"] = rounded(s.confusion);
      }
      entry["measured"] = to_json(drawn[k]);
    }
    out["annotators"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace bdc::host
