#include "parts/few_numbers.h"

#include <torch/utils.h>

namespace parts {

torch::Tensor few_numbers(const std::vector<double>& numbers, const torch::Tensor& like) {
  if (like.is_cpu()) return torch::tensor(numbers, torch::kFloat64).to(like.scalar_type());
  std::vector<torch::Tensor> out;
  for (const double number : numbers) out.push_back(torch::full({}, number, like.options().requires_grad(false)));
  return torch::stack(out);
}

}  // namespace parts
