#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "bdc/learn/learners.h"
#include "studio/report/cluster_summary.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostClasses = 80, kMostConfusions = 4;
constexpr double kDecades = 3;  // letters run from 0.001 to 1

/// The classes shown: all, or the most used ones, in their own order.
std::vector<std::size_t> shown_classes(const AnnotatorPosteriors& p, const std::vector<double>& counts) {
  const std::size_t J = p.classes.size();
  std::vector<std::size_t> order(J);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (J <= kMostClasses) return order;
  std::vector<double> met(J, 0.0);
  for (std::size_t j = 0; j < J; ++j) met[j] = std::accumulate(&counts[j * J], &counts[j * J] + J, 0.0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return met[a] > met[b]; });
  order.resize(kMostClasses);
  std::sort(order.begin(), order.end());
  return order;
}

char letter(double probability) {
  static constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const double level = 63 * (1 + std::log10(std::max(probability, 1e-300)) / kDecades);
  return kLetters[static_cast<std::size_t>(std::lround(std::clamp(level, 0.0, 63.0)))];
}

/// Rows of the posterior mean, a letter a class; rows of classes that were never met are left out. count(j, l) are the
/// expected counts.
template <class Count>
Json letters_of(const AnnotatorPosteriors& p, const std::vector<std::size_t>& shown, const Count& count) {
  const std::size_t J = p.classes.size();
  Json out = Json::object();
  for (std::size_t row = 0; row < shown.size(); ++row) {
    const std::size_t j = shown[row];
    double total = 0;
    for (std::size_t l = 0; l < J; ++l) total += count(j, l);
    if (total < 0.05) continue;
    const double prior = p.confusion_prior.diagonal + static_cast<double>(J - 1) * p.confusion_prior.off_diagonal;
    std::string letters;
    for (const std::size_t l : shown) {
      const double own = l == j ? p.confusion_prior.diagonal : p.confusion_prior.off_diagonal;
      letters += letter((own + count(j, l)) / (prior + total));
    }
    out[std::to_string(row)] = letters;
  }
  return out;
}

/// The most frequent confusions, [true row, given column, expected count, times the true class was met] each.
template <class Count>
Json confusions_of(std::size_t J, const std::vector<std::size_t>& shown, const Count& count) {
  std::vector<std::array<double, 4>> wrong;
  for (std::size_t row = 0; row < shown.size(); ++row) {
    double met = 0;
    for (std::size_t l = 0; l < J; ++l) met += count(shown[row], l);
    for (std::size_t column = 0; column < shown.size(); ++column) {
      const double times = count(shown[row], shown[column]);
      if (row != column && times >= 0.5) {
        wrong.push_back({static_cast<double>(row), static_cast<double>(column), times, met});
      }
    }
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a[2] > b[2]; });
  if (wrong.size() > kMostConfusions) wrong.resize(kMostConfusions);
  Json out = Json::array();
  for (const auto& w : wrong) {
    out.push_back({static_cast<int>(w[0]), static_cast<int>(w[1]), std::lround(w[2]), std::lround(w[3])});
  }
  return out;
}

double short_number(double v) {
  return std::stod(brief(v, 4));
}

template <std::size_t N>
Json short_numbers(const std::array<double, N>& values) {
  Json out = Json::array();
  for (const double v : values) out.push_back(std::isfinite(v) ? short_number(v) : 0.0);
  return out;
}

}  // namespace

Json script_data(const ReportData& data, const AnnotatorClusters& clusters) {
  Json out = Json::object();
  if (!data.posteriors || clusters.k == 0) return out;
  const AnnotatorPosteriors& p = *data.posteriors;
  const std::size_t J = p.classes.size();
  const auto groups = summarise_clusters(p, clusters);
  const auto shown = shown_classes(p, groups.back().counts);
  out["classes"] = Json::array();
  for (const std::size_t j : shown) out["classes"].push_back(p.classes[j].name);
  out["all_classes"] = J;
  out["errors"] = p.tells_boxes() ? Json(box_error_names(p.profile).name) : Json::array();
  out["groups"] = Json::array();
  for (const ClusterSummary& s : groups) {
    out["groups"].push_back(
        {{"m", short_numbers(s.box_mean)},
         {"s", short_numbers(s.box_deviation)},
         {"c", letters_of(p, shown, [&](std::size_t j, std::size_t l) { return s.counts[j * J + l]; })}});
  }
  out["annotators"] = Json::array();
  std::vector<double> dense(J * J);
  for (std::size_t k = 0; k < p.annotators.size(); ++k) {
    if (clusters.cluster[k] == AnnotatorClusters::none) {
      out["annotators"].push_back(nullptr);
      continue;
    }
    std::fill(dense.begin(), dense.end(), 0.0);
    for (std::size_t c = p.confusion.begin[k]; c < p.confusion.begin[k + 1]; ++c) {
      for (std::size_t j = 0; j < J; ++j) {
        dense[j * J + static_cast<std::size_t>(p.confusion.label[c])] = p.confusion.value[c * J + j];
      }
    }
    const BoxPosterior box = p.box(k);
    std::array<double, 4> deviation{};
    const auto precision = box.precision();
    for (std::size_t i = 0; i < 4; ++i) deviation[i] = 1 / std::sqrt(precision[i]);
    const auto count = [&](std::size_t j, std::size_t l) { return dense[j * J + l]; };
    out["annotators"].push_back({{"n", annotator_name(p.annotators[k])},
                                 {"m", short_numbers(box.mean)},
                                 {"s", short_numbers(deviation)},
                                 {"t", confusions_of(J, shown, count)},
                                 {"c", letters_of(p, shown, count)}});
  }
  return out;
}

}  // namespace bdc::host
