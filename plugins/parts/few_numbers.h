#pragma once

#include <torch/types.h>

#include <vector>

namespace parts {

/// Some numbers as a tensor of the type and device of `like`. On a device they are written there one by one, without a
/// transfer that the host would wait for.
[[nodiscard]] torch::Tensor few_numbers(const std::vector<double>& numbers, const torch::Tensor& like);

}  // namespace parts
