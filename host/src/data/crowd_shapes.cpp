#include "data/crowd_shapes.h"

#include "synth/simulate.h"

namespace bdc::host {
namespace {

CrowdSpec spec_of(const CrowdShapesSettings& s) {
  CrowdSpec out;
  out.groups = {{"expert", s.experts, s.share, s.expert_numbers},
                {"average", s.average, s.share, s.average_numbers},
                {"poor", s.poor, s.share, s.poor_numbers},
                {"random", s.random, s.share, s.random_numbers}};
  out.cover_all = true;
  return out;
}

}  // namespace

CrowdShapesData::CrowdShapesData(const ShapesSettings& shapes, const CrowdShapesSettings& crowd)
    : shapes_(shapes), labels_(shapes_.labels()) {
  const auto members = make_members(spec_of(crowd), labels_, crowd.seed);
  simulate_crowd(labels_, members, {crowd.seed, true, 0});
  for (const CrowdMember& member : members) annotators_.push_back(member.self);
}

}  // namespace bdc::host
