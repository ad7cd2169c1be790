#include "eva/attention.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace eva {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Calls work(from, to, first, last): sequences from..to, their queries first..last, at most `block` scores in all.
template <class Work>
void in_blocks(std::int64_t sequences, std::int64_t tokens, std::int64_t block, const Work& work) {
  const std::int64_t some = std::max<std::int64_t>(1, block / (tokens * tokens));
  const std::int64_t queries = some > 1 ? tokens : std::clamp<std::int64_t>(block / tokens, 1, tokens);
  for (std::int64_t s = 0; s < sequences; s += some) {
    for (std::int64_t q = 0; q < tokens; q += queries) {
      work(s, std::min(s + some, sequences), q, std::min(q + queries, tokens));
    }
  }
}

/// On S x tokens x d. Keeps its inputs and its output; the scores are worked out again for the gradient:
/// with P = softmax(Q K^T c), O = P V:  dV = P^T dO,  dS = P * (dO V^T - rowsum(dO * O)),  dQ = c dS K,  dK = c dS^T Q.
struct BlockAttention : torch::autograd::Function<BlockAttention> {
  static Tensor weights(const Tensor& q, const Tensor& k, double scale) {
    return torch::bmm(q * scale, k.transpose(1, 2)).softmax(-1);
  }

  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        std::int64_t block) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(2)));
    Tensor out = torch::empty_like(q);
    in_blocks(q.size(0), q.size(1), block, [&](auto from, auto to, auto first, auto last) {
      const Tensor some = q.slice(0, from, to).slice(1, first, last);
      out.slice(0, from, to)
          .slice(1, first, last)
          .copy_(torch::bmm(weights(some, k.slice(0, from, to), scale), v.slice(0, from, to)));
    });
    context->save_for_backward({q, k, v, out});
    context->saved_data["block"] = block;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3], &d_out = gradients[0];
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(2)));
    Tensor dq = torch::empty_like(q), dk = torch::zeros_like(k), dv = torch::zeros_like(v);
    in_blocks(
        q.size(0), q.size(1), context->saved_data["block"].toInt(), [&](auto from, auto to, auto first, auto last) {
          const auto part = [&](const Tensor& t) { return t.slice(0, from, to).slice(1, first, last); };
          const Tensor keys = k.slice(0, from, to), values = v.slice(0, from, to), some = part(q), d_some = part(d_out);
          const Tensor p = weights(some, keys, scale);
          dv.slice(0, from, to).add_(torch::bmm(p.transpose(1, 2), d_some));
          Tensor ds = torch::bmm(d_some, values.transpose(1, 2));
          ds.sub_((d_some * part(out)).sum(2, /*keepdim=*/true)).mul_(p).mul_(scale);
          part(dq).copy_(torch::bmm(ds, keys));
          dk.slice(0, from, to).add_(torch::bmm(ds.transpose(1, 2), some));
        });
    return {dq, dk, dv, Tensor()};
  }
};

}  // namespace

Tensor attend_in_blocks(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t block) {
  const auto flat = [](const Tensor& t) { return t.flatten(0, 1).contiguous(); };
  return BlockAttention::apply(flat(q), flat(k), flat(v), block).view(q.sizes());
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t block) {
#if TORCH_VERSION_MAJOR >= 2
  (void)block;
  return at::scaled_dot_product_attention(q, k, v);
#else
  return attend_in_blocks(q, k, v, block);
#endif
}

Attention::Attention(std::int64_t dim, std::int64_t heads, std::shared_ptr<Rope> rope) : heads_(heads) {
  if (heads <= 0 || dim % heads != 0) {
    throw std::invalid_argument("eva: embed_dim " + std::to_string(dim) + " is not a multiple of heads " +
                                std::to_string(heads));
  }
  q_bias_ = register_parameter("q_bias", torch::zeros({dim}));
  v_bias_ = register_parameter("v_bias", torch::zeros({dim}));
  const auto plain = torch::nn::LinearOptions(dim, dim).bias(false);
  q_proj_ = register_module("q_proj", torch::nn::Linear(plain));
  k_proj_ = register_module("k_proj", torch::nn::Linear(plain));
  v_proj_ = register_module("v_proj", torch::nn::Linear(plain));
  rope_ = register_module("rope", std::move(rope));
  proj_ = register_module("proj", torch::nn::Linear(dim, dim));
}

Tensor Attention::forward(const Tensor& x) {
  const std::int64_t batch = x.size(0), height = x.size(1), width = x.size(2), dim = x.size(3);
  const Tensor tokens = x.reshape({batch, height * width, dim});
  const auto by_head = [&](const Tensor& t) {
    return t.view({batch, height * width, heads_, dim / heads_}).transpose(1, 2);
  };
  const Tensor turns = rope_->turns(height, width);
  const Tensor q = rotate(by_head(torch::linear(tokens, q_proj_->weight, q_bias_)), turns);
  const Tensor k = rotate(by_head(torch::linear(tokens, k_proj_->weight)), turns);
  const Tensor v = by_head(torch::linear(tokens, v_proj_->weight, v_bias_));
  const Tensor mixed = attend(q, k, v).transpose(1, 2).reshape({batch, height * width, dim});
  return proj_->forward(mixed).view({batch, height, width, dim});
}

Windows cut_windows(const Tensor& x, std::int64_t edge) {
  const std::int64_t batch = x.size(0), height = x.size(1), width = x.size(2), channels = x.size(3);
  const std::int64_t rows = (height + edge - 1) / edge, columns = (width + edge - 1) / edge;
  Windows out;
  out.padded_height = rows * edge;
  out.padded_width = columns * edge;
  const Tensor padded = torch::constant_pad_nd(x, {0, 0, 0, out.padded_width - width, 0, out.padded_height - height});
  out.tokens = padded.view({batch, rows, edge, columns, edge, channels})
                   .permute({0, 1, 3, 2, 4, 5})
                   .reshape({batch * rows * columns, edge, edge, channels});
  return out;
}

Tensor join_windows(const Windows& windows, std::int64_t height, std::int64_t width) {
  const std::int64_t edge = windows.tokens.size(1), channels = windows.tokens.size(3);
  const std::int64_t rows = windows.padded_height / edge, columns = windows.padded_width / edge;
  return windows.tokens.view({-1, rows, columns, edge, edge, channels})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, windows.padded_height, windows.padded_width, channels})
      .slice(1, 0, height)
      .slice(2, 0, width);
}

}  // namespace eva
