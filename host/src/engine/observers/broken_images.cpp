#include "engine/observers/broken_images.h"

#include <torch/nn.h>

#include <algorithm>
#include <utility>

#include "bdc/base/text.h"

namespace bdc::host {

BrokenImages::BrokenImages(std::vector<const Dataset*> data, Progress& progress, Communicator& ranks)
    : data_(std::move(data)), progress_(progress), ranks_(ranks) {}

std::vector<std::string> BrokenImages::broken() const {
  std::vector<std::string> own;
  for (const Dataset* data : data_) {
    for (std::string& one : data->broken_images()) own.push_back(std::move(one));
  }
  if (ranks_.is_alone()) return own;
  std::vector<std::string> all;
  for (const std::string& lines : ranks_.gather(join(own, std::string(1, '\0')))) {
    for (std::size_t from = 0; from < lines.size();) {
      const auto to = std::min(lines.find('\0', from), lines.size());
      all.push_back(lines.substr(from, to - from));
      from = to + 1;
    }
  }
  return all;
}

void BrokenImages::after_epoch(LoopState& state) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> fresh;
  const auto tell_of = [&](const std::string& one) {
    if (told_.insert(one).second) fresh.push_back(one);
  };
  for (const std::string& one : broken()) tell_of(one);
  for (const std::string& one : before_) tell_of(one);
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
  for (std::string& one : broken()) out.insert(std::move(one));
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
