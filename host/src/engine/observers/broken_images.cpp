#include "engine/observers/broken_images.h"

#include <torch/nn.h>

#include <algorithm>
#include <utility>

namespace bdc::host {

BrokenImages::BrokenImages(std::vector<const Dataset*> data, Progress& progress)
    : data_(std::move(data)), progress_(progress) {}

void BrokenImages::after_epoch(LoopState& state) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> fresh;
  const auto tell_of = [&](const std::string& broken) {
    if (told_.insert(broken).second) fresh.push_back(broken);
  };
  for (const Dataset* data : data_) {
    for (const std::string& broken : data->broken_images()) tell_of(broken);
  }
  for (const std::string& broken : before_) tell_of(broken);
  for (std::size_t n = 0; n < std::min(kMost, fresh.size()); ++n) progress_.line("left out: " + fresh[n]);
  if (fresh.size() > kMost) progress_.line("left out: " + std::to_string(fresh.size() - kMost) + " more");
  if (!fresh.empty()) {
    progress_.line(std::to_string(told_.size()) + (told_.size() == 1 ? " image" : " images") + " left out so far");
  }
  if (!told_.empty()) state.run.metrics["data/broken_images"] = static_cast<double>(told_.size());
}

std::set<std::string> BrokenImages::found() const {
  std::set<std::string> out = before_;
  out.insert(told_.begin(), told_.end());
  for (const Dataset* data : data_) {
    for (std::string& broken : data->broken_images()) out.insert(std::move(broken));
  }
  return out;
}

Json BrokenImages::save() const {
  return {{"told", told_}, {"found", found()}};
}

void BrokenImages::restore(const Json& state) {
  told_ = state.at("told").get<std::set<std::string>>();
  before_ = state.at("found").get<std::set<std::string>>();
}

}  // namespace bdc::host
