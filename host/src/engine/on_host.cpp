#include "engine/on_host.h"

#include <torch/nn.h>

namespace bdc::host {

plugin::LossTerms on_host(const plugin::LossTerms& terms) {
  if (terms.total.is_cpu()) return {terms.total.detach(), terms.parts};
  const auto number = [](const torch::Tensor& t) { return t.detach().reshape({}).to(torch::kFloat32); };
  std::vector<torch::Tensor> numbers{number(terms.total)};
  for (const auto& [name, value] : terms.parts) numbers.push_back(number(value).to(terms.total.device()));
  const torch::Tensor all = torch::stack(numbers).cpu();
  plugin::LossTerms out{all[0], {}};
  for (std::size_t n = 0; n < terms.parts.size(); ++n) {
    out.parts.emplace_back(terms.parts[n].first, all[static_cast<std::int64_t>(n) + 1]);
  }
  return out;
}

}  // namespace bdc::host
