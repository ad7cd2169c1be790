#pragma once

#include <torch/nn.h>

#include <memory>
#include <string>

namespace parts {

/// Registers a module under a dotted name ("conv.0.0"), making the modules on the way where they are missing.
template <class M>
std::shared_ptr<M> register_at(torch::nn::Module& parent, const std::string& name, std::shared_ptr<M> module) {
  torch::nn::Module* at = &parent;
  std::size_t from = 0;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', from)) {
    const std::string part = name.substr(from, dot - from);
    const auto children = at->named_children();
    if (!children.contains(part)) at->register_module(part, std::make_shared<torch::nn::Module>());
    at = at->named_children()[part].get();
    from = dot + 1;
  }
  return at->register_module(name.substr(from), std::move(module));
}

}  // namespace parts
