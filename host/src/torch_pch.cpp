// Only here so that the precompiled torch/nn.h has a target to belong to.
