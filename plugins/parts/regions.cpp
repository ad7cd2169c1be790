#include "parts/regions.h"

#include <torch/nn.h>

#include <functional>

namespace parts {
namespace {

/// choose(matches) gives the rows to keep.
Regions collect(const std::vector<Tensor>& proposals, const Tensor& targets,
                const std::vector<std::int64_t>& target_begin, const Matcher& matcher, bool append_targets,
                const std::function<Tensor(const Tensor&)>& choose) {
  torch::NoGradGuard no_grad;
  Regions out;
  std::vector<Tensor> boxes, target, row;
  out.begin.push_back(0);
  for (std::size_t b = 0; b < proposals.size(); ++b) {
    const Tensor own = targets.slice(0, target_begin[b], target_begin[b + 1]);
    const Tensor all = append_targets ? torch::cat({proposals[b].detach(), own.to(proposals[b].scalar_type())})
                                      : proposals[b].detach();
    const Tensor matches = matcher.match(own, all);
    const Tensor rows = choose(matches);
    const Tensor match = matches.index_select(0, rows);
    boxes.push_back(all.index_select(0, rows));
    target.push_back(torch::where(match < 0, match, match + target_begin[b]));
    row.push_back(rows);
    out.begin.push_back(out.begin.back() + rows.size(0));
  }
  out.boxes = torch::cat(boxes);
  out.target = torch::cat(target);
  out.row = torch::cat(row);
  return out;
}

}  // namespace

Tensor Regions::image() const {
  std::vector<Tensor> parts;
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) {
    parts.push_back(torch::full({begin[b + 1] - begin[b]}, static_cast<std::int64_t>(b), target.options()));
  }
  return torch::cat(parts);
}

Regions sample_regions(const std::vector<Tensor>& proposals, const Tensor& targets,
                       const std::vector<std::int64_t>& target_begin, const RegionOptions& options) {
  return collect(proposals, targets, target_begin, options.matcher, options.append_targets, [&](const Tensor& matches) {
    const auto drawn = options.sampler.draw(matches);
    const Tensor rows = torch::cat({drawn.positive, drawn.negative});
    return options.positives_first ? rows : std::get<0>(rows.sort());
  });
}

Regions match_regions(const std::vector<Tensor>& proposals, const Tensor& targets,
                      const std::vector<std::int64_t>& target_begin, const Matcher& matcher) {
  return collect(proposals, targets, target_begin, matcher, false,
                 [](const Tensor& matches) { return (matches != Matcher::kNeither).nonzero().squeeze(1); });
}

}  // namespace parts
